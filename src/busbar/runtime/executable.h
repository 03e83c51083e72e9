// A plan made ready to run: what each step waits for, and where each chunk lies in memory.
//
// Invariants:
//  1. A thread of the plan counts its finished steps in one counter. Only its actor writes it; others read it.
//  2. A step may start when the counters that its row of `waits` names have reached those values in this run, and those
//     of its row of `earlier` have finished the run before. Nothing else makes a step wait: there is no barrier.
//  3. An actor (a rank, or a switch that reduces) performs the steps of all its threads, whichever can start.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/execution_plan.h"

namespace busbar::runtime {

/// `thread` has finished `steps` steps.
struct Wait {
  std::uint32_t thread = 0, steps = 0;
  bool operator==(const Wait&) const = default;
};

struct Executable {
  collectives::ExecutionPlan plan;
  bool reads_others = false;   ///< some step reads memory of another actor, so all must share it
  bool writes_others = false;  ///< some step of the plan as given writes memory of another actor other than a
                               ///< message; without shared memory, messages too go where they belong
  std::vector<std::uint32_t> first_step;  ///< per thread, and the number of steps
  Csr<Wait> waits;                        ///< per step
  Csr<std::uint32_t> earlier;             ///< per step: threads
  Csr<std::uint32_t> threads_of;          ///< per actor
  std::uint32_t first_division = 0;       ///< this step and all later ones divide by the number of ranks

  std::uint32_t threads() const { return static_cast<std::uint32_t>(plan.thread_rank.size()); }
  std::uint32_t steps_of(std::uint32_t thread) const { return first_step[thread + 1] - first_step[thread]; }
  /// Chunks in the memory of an actor: its buffers one after another, those that are one buffer at the same place.
  std::uint32_t chunks_of(std::uint32_t actor) const { return places_[5 * std::size_t{actor} + 4]; }
  /// The place of the slice's first chunk in the memory of its actor, in chunks.
  std::uint32_t place(const collectives::PlanSlice& s) const {
    return places_[5 * std::size_t{s.rank} + static_cast<std::size_t>(s.buffer)] + s.first;
  }

 private:
  friend Executable lay_out(collectives::ExecutionPlan plan);
  std::vector<std::uint32_t> places_;  ///< per actor: of the four buffers, and the number of all
};

struct CompileOptions {
  bool shared_memory = true;  ///< receivers read what a sender has; else every message is copied to its receiver
  bool average = false;       ///< the sum is divided by the number of ranks
};

/// The plan with places in memory only.
Executable lay_out(collectives::ExecutionPlan plan);

/// Messages in flight per pair of threads without shared memory, as in NCCL's connections.
inline constexpr std::uint32_t kSlots = 8;

/// Proves what will run. Errors: those of prove(), and kUnsupported for an average of an operation that adds nothing.
Result<Executable> compile(collectives::ExecutionPlan plan, const CompileOptions& options);

/// The plan as it is, not proved. Precondition: no step waits for itself.
Executable ready(collectives::ExecutionPlan plan);

/// The plan of a schedule with chunks of about `piece_bytes`, so that a rank passes on a piece while the next arrives.
Result<collectives::ExecutionPlan> plan_in_pieces(const collectives::Schedule& schedule, std::uint64_t bytes,
                                                  std::uint64_t piece_bytes, bool in_place);

/// Whether the operation adds up what ranks have.
bool reduces(collectives::Collective op);

}  // namespace busbar::runtime
