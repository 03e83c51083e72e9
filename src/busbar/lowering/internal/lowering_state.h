// The inside of Lowering: work space of one call, shared by lowering.cc (stages) and lowering_connect.cc (routes).
#pragma once

#include <optional>
#include <vector>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/chain.h"
#include "busbar/collectives/edges.h"
#include "busbar/lowering/internal/hop_times.h"
#include "busbar/lowering/internal/lanes.h"
#include "busbar/lowering/internal/routed_run.h"
#include "busbar/lowering/internal/stage_builder.h"
#include "busbar/lowering/internal/switch_trees.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/send_routes.h"
#include "busbar/routing/pair_spread.h"

namespace busbar {

inline bool is_ring(Pattern p) { return p == Pattern::kRingReduceScatter || p == Pattern::kRingAllGather; }

/// What one piece costs on a connection of a ring whose links other channels and groups use too: docs/models/flow.md,
/// "Channels that share links".
struct PieceCost {
  static constexpr double kMet = 2;  ///< a piece that passes shares its links with as many bytes again
  double latency_ps = 0;
  double passing_ps = 0;  ///< transfer of a piece that passes once
  double staying_ps = 0;  ///< transfer of a piece of this and all other channels
  LinkId narrowest = kNone<LinkId>;
  /// In the dependency grid of a ring: a path passes each edge of its window once and stays on the slowest.
  SendCost in_ring() const { return {latency_ps + passing_ps - staying_ps, staying_ps}; }
};

/// A round of a ring all of whose links are busy with the pieces of other channels too.
struct FullRound {
  static constexpr double kFilled = 2;  ///< of the mean extra latency of the ring's edges
  double idle_ps, busy_ps;              ///< of the links
  LinkId link;
  double ps() const { return idle_ps + busy_ps; }
};

/// What Lowering::explain asks for: the chain of one fluid of each stage.
struct Lowering::Trace {
  std::vector<std::uint32_t> fluid;           ///< per stage
  std::vector<std::vector<ChainPart>> parts;  ///< per stage
};

/// Of pairs that are taken together.
struct PairTimes {
  double latest_ps = 0;  ///< largest latency
  double alone_ps = 0;   ///< longest time of one by itself, where messages are held up
};

/// A send of a run of rounds, between positions of its group.
struct RoundSend {
  std::uint32_t from = 0, to = 0, round = 0;
};

/// One step of all channels and groups.
struct SideBySide {
  PerCapacity<double> loads{};                 ///< together; empty: one run only
  std::vector<std::vector<RoutedRun>> kept{};  ///< per channel, by call group and group; empty: not routed yet
};

struct Lowering::State {
  const Router& router;
  const Placement& placement;
  ProtocolModel protocol;
  PairSpread pair_spread;
  Shortcuts shortcuts;
  CapacityTable table;
  SendRoutes routes{router, placement, protocol, table};
  SwitchTrees trees{placement, protocol, table, routes, router.topology()};
  WhatIf what_if{};
  std::vector<LinkDelay> delays{};
  Trace* trace = nullptr;
  SentBytes sent_bytes{};  ///< by the protocol of the call

  std::vector<SplitBias> biases{};       ///< per step of the schedule; none: equal splits
  const SplitBias* bias = &kEqualSplit;  ///< of the step that is being laid out
  std::optional<std::size_t> only{};     ///< the one step to lower

  double hold_ps(double sends);

  Lanes lanes{};                      ///< of the current call
  std::uint32_t channel = 0;          ///< of the current phases
  std::vector<std::uint32_t> nic_numbers{};  ///< of its lanes
  const ChannelNics* nics = nullptr;  ///< of the call; null: each rank uses the NICs nearest to its GPU

  double arrival_cost = 1;                   ///< bytes that memory moves for one that arrives, in the current phases

  // Work space, reused from fluid to fluid.
  std::vector<CapacityShare> path{};
  std::vector<Connection> connections{};
  std::vector<std::uint32_t> connection_of{};  ///< actor -> connection of the current phase
  RunLoads loads{};                            ///< of the open run
  std::vector<double> sent{};        ///< per rank, zero between fluids
  PerCapacity<double> round_load{};  ///< zero between rounds
  std::optional<HopTimes> hop_times{};
  ChainScratch chain{};
  RunLoads total{};  ///< of a pipeline: of all phases of a channel
  std::optional<StageBuilder> builder{};
  /// Loads of all runs of the step, the open one included; null: only the open run loads links.
  const PerCapacity<double>* beside = nullptr;

  const Topology& topology() const { return router.topology(); }
  void read_table() { table = CapacityTable(router, protocol, what_if, delays, shortcuts); }
  void set_arrival_cost(const Schedule& s, std::uint32_t first, std::uint32_t last);
  void make_room();
  void set_channel(std::uint32_t c) {
    channel = c;
    nic_numbers.clear();
    for (std::uint32_t lane = 0; lane < lanes.count; ++lane) nic_numbers.push_back(lanes.nic(channel, lane));
  }
  std::vector<double> load_ps(const Stage& stage) const;
  void set_bias(std::size_t step) { bias = step < biases.size() ? &biases[step] : &kEqualSplit; }
  Result<Schedule> build(const CollectiveCall& call, std::uint32_t per_domain);
  Status connect(const CollectiveCall& call, std::uint32_t group, std::uint32_t from, std::uint32_t to, double bytes);
  void load(const CapacityShare& l, double bytes);
  Status open_steps(const CollectiveCall& call, const Schedule& s, PhaseRun run, std::uint32_t call_group,
                    std::uint32_t group, double chunk_bytes);
  void close_round(std::size_t first, std::size_t last, bool others);
  double busiest_bytes(bool stepwise);
  Status lower_free(const Schedule& s, PhaseRun run, std::uint32_t call_group, std::uint32_t group, double chunk_bytes,
                    const CollectiveCall& call);
  // lowering_pairs.cc
  bool pairs_together(const LoweredCall& out, const Schedule& s, std::span<const std::vector<PhaseRun>> runs,
                      std::size_t step) const;
  Status lower_together(const Schedule& s, PhaseRun run, std::uint32_t call_group, std::uint32_t group,
                        double chunk_bytes, const CollectiveCall& call);
  Status connect_pair(const CollectiveCall& call, std::uint32_t group, std::uint32_t from, std::uint32_t to,
                      double bytes, PairTimes& times);
  Result<bool> spread_pairs(const CollectiveCall& call, std::uint32_t group, std::span<const std::uint32_t> actors,
                            double bytes, PairTimes& times);
  void cross_pairs(const CapacityShare& l, double bytes, double least_ps);
  Status open_run(const CollectiveCall& call, const Schedule& s, PhaseRun run, std::uint32_t call_group,
                  std::uint32_t group, double chunk_bytes);
  // lowering_beside.cc
  Result<SideBySide> open_side_by_side(const LoweredCall& out, const Schedule& s,
                                       std::span<const std::vector<PhaseRun>> runs, std::size_t step,
                                       double chunk_bytes);
  RoutedRun put_by();
  Status reopen(SideBySide& all, const LoweredCall& out, const Schedule& s, PhaseRun run, std::size_t c,
                std::uint32_t cg, std::uint32_t g, double chunk_bytes);
  void stretch_rounds(const Schedule& s, PhaseRun run);
  void link_hops(const Schedule& s, const Phase& phase);
  void time_rounds(std::span<const RoundSend> sends, std::uint32_t ranks);
  std::uint32_t follow_pipeline(const Schedule& s, std::span<const std::vector<PhaseRun>> runs,
                                std::span<SideBySide> side, std::uint32_t groups, std::uint32_t chunks,
                                std::vector<double>& end_ps);
  double load_beside(CapacityId c) const { return beside ? std::max((*beside)[c], loads[c]) : loads[c]; }
  double alone(const Schedule& s, PhaseRun run, std::uint32_t group, double chunk_bytes);
  /// Of the open run, at least `ps`.
  double longest_load_ps(double ps) const {
    return loads.longest_ps(ps, [&](CapacityId c) { return table.rate(c); });
  }
  void forget_all();
  /// Whether the next fluid of the current stage is to be traced.
  bool traces(const LoweredCall& out, const Stage& stage) const;
  std::vector<ChainPart> trace_run(const Schedule& s, PhaseRun run, std::uint32_t group, double chunk_bytes,
                                   const std::string& phase);
  std::vector<ChainPart> trace_full_rounds(const FullRound& round, std::uint64_t rounds,
                                           const std::string& phase) const;
  std::vector<ChainPart> trace_steps(const Schedule& s, PhaseRun run, std::uint32_t group, const std::string& phase);
  /// Of the open run's connections.
  double most_bytes() const;
  PieceCost cost_of(const Connection& c, double piece, double most) const;
  FullRound full_round(double piece) const;
  Status lower_in_steps(const Schedule& s, std::span<const std::vector<PhaseRun>> runs, LoweredCall& out);
  Status lower_as_pipeline(const Schedule& s, std::span<const std::vector<PhaseRun>> runs, LoweredCall& out);
  void open_connection(const Connection& c);
  void close_stage(LoweredCall& out);
};

}  // namespace busbar
