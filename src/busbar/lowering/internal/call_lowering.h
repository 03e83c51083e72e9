// Lowers one call: routes its runs step by step and makes stages of them.
#pragma once

#include <span>
#include <string>

#include "busbar/lowering/internal/many_pairs.h"
#include "busbar/lowering/internal/run_tracer.h"
#include "busbar/lowering/internal/step_runs.h"
#include "busbar/lowering/lowering.h"

namespace busbar::lowering {

/// What is reused from call to call: arrays over all capacities, and routes that were found once.
struct LoweringSpace {
  RunTimes times;
  StageBuilder builder;
  RunRouter router;
  HopTimes hop_times;
  RingTimes ring_times;
  OpenRun run{};
  RunLoads total;  ///< the bytes of all runs of a pipeline or of a call; zero in between

  explicit LoweringSpace(const PlacedMachine& machine)
      : times(machine.table, machine.shortcuts),
        builder(machine.table, machine.shortcuts),
        router(machine, times, builder),
        hop_times(machine.table),
        ring_times(machine.table, machine.shortcuts),
        total(machine.table.counts()) {
    run.loads = RunLoads(machine.table.counts());
  }
  LoweringSpace(const LoweringSpace&) = delete;  // parts refer to each other
};

/// Splits over equal ways, and the steps that are wanted.
struct StepChoice {
  std::vector<routing::SplitBias> biases{};  ///< per step; none: equal splits
  std::optional<std::size_t> only{};
  const routing::SplitBias& bias(std::size_t step) const {
    return step < biases.size() ? biases[step] : routing::kEqualSplit;
  }
};

class CallLowering {
 public:
  /// `plans`: the parts of one call. All arguments outlive it. `trace`: null, or what is asked for and found.
  CallLowering(const PlacedMachine& machine, routing::PairSpread& spread, LoweringSpace& space,
               std::span<const PlannedCall> plans, const StepChoice& choice, ChainTrace* trace)
      : machine_(machine), spread_(spread), space_(space), plans_(plans), choice_(choice), trace_(trace) {}

  /// Returns the stages, without those that move nothing. Errors: those of RunRouter and of lower_pairs_together();
  /// after one `space` must not be used any more.
  Result<std::vector<Stage>> stages();

 private:
  /// The time alone of one channel of a pipeline, and what it is made of.
  struct FirstChunk;
  void begin(const PlannedCall& part);
  Status lower_step(std::size_t step);
  Status lower_run(const GroupRun& of, std::size_t channel, StepRuns& runs);
  Status lower_sends(const GroupRun& of);
  Status lower_pipeline();
  Status lower_first_chunk(std::uint32_t call_group, std::size_t channel, std::span<StepRuns> steps, FirstChunk& first);
  void take_turns(std::optional<std::size_t> step);
  bool traces() const;
  void keep_chain(double ps, std::vector<ChainPart> parts);
  void close_stage();

  const PlacedMachine& machine_;
  routing::PairSpread& spread_;
  LoweringSpace& space_;
  std::span<const PlannedCall> plans_;
  const PlannedCall* plan_ = nullptr;  ///< the part that is being lowered
  const StepChoice& choice_;
  ChainTrace* trace_;
  std::vector<Stage> done_{};
};

}  // namespace busbar::lowering
