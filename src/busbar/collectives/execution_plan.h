// A collective written out step by step for every rank, as MSCCL and MSCCL++ run it: what a Schedule generates, listed.
//
// Invariants:
//  1. Steps of one thread run in the order listed; steps of different threads only in the order that `after` says.
//  2. A step adds up what it reads, chunk by chunk, and puts the sum wherever it writes. One that reads nothing and
//     writes nothing only waits.
//  3. A message in flight is a place like any other: of buffer kMessage, at the rank that takes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/result.h"
#include "busbar/collectives/collective_demand.h"
#include "busbar/collectives/schedule.h"

namespace busbar {

enum class PlanBuffer : std::uint8_t { kInput, kOutput, kScratch, kMessage };

/// PlanStep::count chunks of a buffer from `first` on. Chunks are numbered within the rank's own buffer.
struct PlanSlice {
  std::uint32_t rank = 0;
  PlanBuffer buffer = PlanBuffer::kInput;
  std::uint32_t first = 0;
  bool operator==(const PlanSlice&) const = default;
};

struct PlanStep {
  std::uint32_t thread = 0;
  std::uint32_t count = 0;    ///< chunks; 0: only waits
  std::uint16_t channel = 0;  ///< of what leaves the rank
  bool in_switch = false;     ///< reads are added up, and writes multiplied, by the switch between the ranks
  int line = 0;               ///< of the file it comes from; 0: none
};

struct ExecutionPlan {
  std::string name, file;
  Collective op{};
  std::uint32_t ranks = 0, root = 0;
  std::uint32_t chunks = 0;  ///< equal parts of the buffer S of nccl-tests
  std::uint32_t channels = 1;
  bool in_place = false;                         ///< input and output are one buffer, as nccl-tests lays them
  std::vector<std::uint32_t> scratch, messages;  ///< chunks of these, per rank
  std::vector<std::uint32_t> thread_rank;
  std::vector<PlanStep> steps;   ///< thread by thread
  Csr<PlanSlice> reads, writes;  ///< per step
  Csr<std::uint32_t> after;      ///< per step: steps of other threads that it waits for

  std::uint32_t rank_of(const PlanStep& s) const { return thread_rank[s.thread]; }
  Where where(const PlanStep& s) const { return {file, s.line, 0, ""}; }
};

/// Chunks that the collective gives a rank as input, and wants as output.
std::uint32_t input_chunks(const ExecutionPlan& plan);
std::uint32_t output_chunks(const ExecutionPlan& plan);

/// The chunk of the whole collective, as CollectiveDemand numbers it, that lies at `place` of a rank's input or output.
std::uint32_t chunk_of_input(const ExecutionPlan& plan, std::uint32_t rank, std::uint32_t place);
std::uint32_t chunk_of_output(const ExecutionPlan& plan, std::uint32_t rank, std::uint32_t place);
/// What the plan is measured by. Error where ranks do not divide the chunks as the collective needs.
Result<CollectiveDemand> demand_of(const ExecutionPlan& plan);

struct PlanProof {
  std::uint64_t steps = 0, sends = 0;  ///< sends: steps that write to, or read from, another rank
  std::uint32_t depth = 0;             ///< sends that follow each other, at most
};

/// Proof that the plan does what its collective demands in every order that it allows: no step waits for itself, all
/// steps that touch the same place and of which one writes are ordered, no contribution is counted twice, and at the
/// end every output chunk holds what CollectiveDemand says. Errors carry the line of the step.
/// Cost: O(steps x threads) for the order, plus O(ranks / 64) per chunk moved. kUnsupported where that takes more than
/// half a GiB each.
Result<PlanProof> prove(const ExecutionPlan& plan);

/// How a call lays a schedule over more channels than it has: each stands for `lanes` of them, which share its bytes.
struct PlanLanes {
  std::uint32_t lanes = 1;
  std::uint32_t stride = 0;  ///< NICs from lane to lane; 0: as many as the schedule has orders of ranks
  std::uint32_t nics = 1;    ///< of a rank
};

/// The same collective as a list. Scratch is used from its beginning on; every rank has one thread per channel and peer
/// to send to, and one per channel and peer to receive from. Where a pattern goes by rounds, a rank sends when all that
/// it sent and received in earlier ones is through. Channels are numbered so that channel c enters and leaves servers
/// by NIC number c of a rank, counted around. `in_place`: input and output are one buffer.
/// Errors: kUnsupported for reducers in the network.
Result<ExecutionPlan> plan_of(const Schedule& schedule, bool in_place, PlanLanes lanes = {});

}  // namespace busbar
