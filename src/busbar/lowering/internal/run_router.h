// Routes the sends of a run of phases and counts their loads.
#pragma once

#include "busbar/lowering/internal/placed_machine.h"
#include "busbar/lowering/internal/run_times.h"
#include "busbar/lowering/internal/stage_builder.h"
#include "busbar/lowering/internal/switch_trees.h"

namespace busbar::lowering {

/// How the sends of a run leave their ranks.
struct SendSettings {
  std::vector<std::uint32_t> nics{};                       ///< numbers of the NICs, or channels of CollectiveCall::nics
  const routing::SplitBias* bias = &routing::kEqualSplit;  ///< of the step
  double arrival_cost = 1;                                 ///< bytes that memory moves for one that arrives
};

/// Use: begin_call(), set_bias() per step, open() or begin_run() and connect() per run.
class RunRouter {
 public:
  RunRouter(const PlacedMachine& machine, RunTimes& times, StageBuilder& builder)
      : machine_(machine), times_(times), builder_(builder) {}

  /// `plan` must outlive the runs. `per_domain`: ranks_per_domain(). With `keep_routes`, paths are there after open()
  /// even if no time depends on them any more.
  void begin_call(const PlannedCall& plan, std::uint32_t per_domain, bool keep_routes);
  void set_bias(const routing::SplitBias& bias) { settings_.bias = &bias; }
  /// For the sends of `phases` that follow, which cross the same edges.
  void begin_run(collectives::PhaseRun phases);
  /// Appends one send of `bytes` to `run`, which are so many messages, and its loads. Actors from the number of ranks
  /// on are switches that reduce. Errors: kUnreachable, kUnsupported.
  Status connect(std::uint32_t call_group, std::uint32_t from, std::uint32_t to, double bytes, double messages,
                 OpenRun& run);
  /// What the processor of the receiver needs for a message of `bytes` over a NIC, ps.
  double turn_ps(double bytes) const;
  /// Appends what a send between two ranks crosses; returns its latency, ps. Errors: as connect().
  Result<double> way(std::uint32_t call_group, std::uint32_t from, std::uint32_t to,
                     std::vector<routing::CapacityShare>& path);
  /// Routes all sends of a run and sets Connection::transfer_ps of those that go in rounds.
  /// Errors: those of connect(), and kUnsupported for too many sends.
  Status open(const GroupRun& of, OpenRun& run);

  const SendSettings& settings() const { return settings_; }
  SendRoutes& routes() { return routes_; }
  const routing::CapacityCounts& counts() const { return machine_.table.counts(); }

 private:
  Status open_rounds(const GroupRun& of, OpenRun& run);
  void add_message_costs(std::uint32_t call_group, std::uint32_t from, std::uint32_t to, double message,
                         Connection& c) const;
  Status connect_round(const GroupRun& of, const collectives::Phase& phase, std::uint32_t round, OpenRun& run);

  const PlacedMachine machine_;
  RunTimes& times_;
  StageBuilder& builder_;
  SendRoutes routes_{machine_.router, machine_.placement, machine_.protocol, machine_.table};
  SwitchTrees trees_{machine_, routes_};
  const PlannedCall* plan_ = nullptr;
  bool keep_routes_ = false;
  SendSettings settings_{};
};

}  // namespace busbar::lowering
