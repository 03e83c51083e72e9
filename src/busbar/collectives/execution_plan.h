// A collective as a list of steps for every rank, as MSCCL and MSCCL++ run it. A Schedule generates the same moves.
//
// Invariants:
//  1. Steps of one thread run in the order listed; steps of different threads only in the order that `after` states.
//  2. A step adds up its reads, chunk by chunk, and puts the sum wherever it writes. A step without reads and writes
//     only waits.
//  3. A message in flight is a place like any other: in buffer kMessage of the receiving rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/result.h"
#include "busbar/collectives/collective_demand.h"
#include "busbar/collectives/schedule.h"

namespace busbar::collectives {

enum class PlanBuffer : std::uint8_t { kInput, kOutput, kScratch, kMessage };

/// PlanStep::count chunks of a buffer, starting at `first`. Chunks are numbered within the rank's own buffer.
struct PlanSlice {
  std::uint32_t rank = 0;
  PlanBuffer buffer = PlanBuffer::kInput;
  std::uint32_t first = 0;
  bool operator==(const PlanSlice&) const = default;
};

struct PlanStep {
  std::uint32_t thread = 0;
  std::uint32_t count = 0;    ///< chunks; 0: the step only waits
  std::uint16_t channel = 0;  ///< of the sends that leave the rank
  bool in_switch = false;     ///< the switch between the ranks adds up the reads and multicasts the writes
  int line = 0;               ///< line in the source file; 0: none
};

struct ExecutionPlan {
  std::string name, file;
  Collective op{};
  std::uint32_t ranks = 0, root = 0;
  std::uint32_t reducers = 0;  ///< switches: actors after the ranks, with scratch but neither input nor output
  std::uint32_t chunks = 0;    ///< equal parts of the buffer S of nccl-tests; all_to_allv: of the rank that sends most
  PairCounts pairs;            ///< of an all_to_allv, with `begin`: chunks between each two ranks, in order of source
  std::uint32_t channels = 1;
  bool in_place = false;                         ///< input and output are one buffer, as in nccl-tests
  std::vector<std::uint32_t> scratch, messages;  ///< chunks of these buffers, per actor
  std::vector<std::uint32_t> thread_rank;
  std::vector<PlanStep> steps;   ///< thread by thread
  Csr<PlanSlice> reads, writes;  ///< per step
  Csr<std::uint32_t> after;      ///< per step: the steps of other threads for which it waits

  std::uint32_t actors() const { return ranks + reducers; }
  std::uint32_t rank_of(const PlanStep& s) const { return thread_rank[s.thread]; }
  Where where(const PlanStep& s) const { return {file, s.line, 0, ""}; }
};

/// Number of chunks that a rank has as input and must have as output; of an all_to_allv, those of the rank with most.
std::uint32_t input_chunks(const ExecutionPlan& plan);
std::uint32_t output_chunks(const ExecutionPlan& plan);
/// Number of chunks of one buffer of an actor.
std::uint32_t chunks_in(const ExecutionPlan& plan, std::uint32_t actor, PlanBuffer buffer);

/// The chunk of the whole collective, as CollectiveDemand numbers it, that lies at `place` of a rank's input or output.
/// kNone32: this rank of an all_to_allv has less than others.
std::uint32_t chunk_of_input(const ExecutionPlan& plan, std::uint32_t rank, std::uint32_t place);
std::uint32_t chunk_of_output(const ExecutionPlan& plan, std::uint32_t rank, std::uint32_t place);
/// The demand that the plan must meet. Error if the ranks do not divide the chunks as the collective requires.
Result<CollectiveDemand> demand_of(const ExecutionPlan& plan);

struct PlanProof {
  std::uint64_t steps = 0, sends = 0;  ///< sends: steps that write to, or read from, another rank
  std::uint32_t depth = 0;             ///< the longest chain of dependent sends
};

/// Proves that the plan meets its collective's demand in every order that it allows: no step waits for itself;
/// steps that touch the same place are ordered if one of them writes; no contribution is counted twice; and at
/// the end every output chunk holds what CollectiveDemand requires. Errors give the line of the step. Cost:
/// O(steps x threads) for the order, plus O(ranks / 64) per chunk moved. kUnsupported if either takes more than
/// half a GiB.
Result<PlanProof> prove(const ExecutionPlan& plan);

/// How a call maps a schedule to more channels than it has: each channel becomes `lanes` lanes, which share its bytes.
struct PlanLanes {
  std::uint32_t lanes = 1;
  std::uint32_t stride = 0;  ///< NICs from lane to lane; 0: the number of the schedule's orders of ranks
  std::uint32_t nics = 1;    ///< per rank
};

/// The same collective as a plan. Scratch is used from its beginning. Every rank has one thread per channel and peer
/// that it sends to, and one per channel and peer that it receives from. In patterns with rounds, a rank sends when all
/// that it sent and received in earlier rounds is done. Channels are numbered so that channel c uses NIC c modulo the
/// NICs of a rank. `in_place`: input and output are one buffer.
/// Errors: kUnsupported for reducers in the network.
Result<ExecutionPlan> plan_of(const Schedule& schedule, bool in_place, PlanLanes lanes = {});
/// The same with the steps of the schedule's reducers, for a program that plays the switches.
Result<ExecutionPlan> plan_with_reducers(const Schedule& schedule, bool in_place, PlanLanes lanes = {});

}  // namespace busbar::collectives
