#include "busbar/collectives/execution_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/base/id.h"
#include "busbar/collectives/builders.h"

namespace busbar::collectives {
namespace {

/// Whether the buffer consists of one part per rank, and each rank provides its own.
bool gives_part(Collective op) { return op == Collective::kAllGather || op == Collective::kGather; }
bool takes_part(Collective op) { return op == Collective::kReduceScatter || op == Collective::kScatter; }

/// Whether this is a send_recv of more than two ranks: each sends to the next.
bool to_next(const ExecutionPlan& p) { return p.op == Collective::kSendRecv && p.ranks != 2; }

bool is_uneven(const ExecutionPlan& p) { return p.op == Collective::kAllToAllV; }

/// Chunks that the rank which receives most receives.
std::uint32_t most_received(const ExecutionPlan& p) {
  std::vector<std::uint32_t> received(p.ranks, 0);
  for (std::uint32_t src = 0; src < p.ranks; ++src)
    for (std::uint32_t dst = 0; dst < p.ranks; ++dst) received[dst] += p.pairs.count(p.ranks, src, dst);
  return *std::max_element(received.begin(), received.end());
}

/// In an output lie the chunks of the first source, then those of the next one.
std::uint32_t uneven_chunk_of_output(const ExecutionPlan& p, std::uint32_t rank, std::uint32_t place) {
  for (std::uint32_t src = 0; src < p.ranks; ++src) {
    const std::uint32_t n = p.pairs.count(p.ranks, src, rank);
    if (place < n) return p.pairs.first(p.ranks, src, rank) + place;
    place -= n;
  }
  return kNone32;
}

}  // namespace

std::uint32_t input_chunks(const ExecutionPlan& p) { return gives_part(p.op) ? p.chunks / p.ranks : p.chunks; }
std::uint32_t output_chunks(const ExecutionPlan& p) {
  if (is_uneven(p)) return most_received(p);
  return takes_part(p.op) ? p.chunks / p.ranks : p.chunks;
}

std::uint32_t chunks_in(const ExecutionPlan& p, std::uint32_t actor, PlanBuffer buffer) {
  if (buffer == PlanBuffer::kScratch) return p.scratch[actor];
  if (buffer == PlanBuffer::kMessage) return p.messages[actor];
  if (actor >= p.ranks) return 0;
  return buffer == PlanBuffer::kInput ? input_chunks(p) : output_chunks(p);
}

std::uint32_t chunk_of_input(const ExecutionPlan& p, std::uint32_t rank, std::uint32_t place) {
  if (is_uneven(p)) {
    const std::uint32_t chunk = p.pairs.first(p.ranks, rank, 0) + place;
    return chunk < p.pairs.begin[std::size_t{rank + 1} * p.ranks] ? chunk : kNone32;
  }
  if (p.op == Collective::kAllToAll || to_next(p)) return rank * p.chunks + place;
  return gives_part(p.op) ? rank * (p.chunks / p.ranks) + place : place;
}

std::uint32_t chunk_of_output(const ExecutionPlan& p, std::uint32_t rank, std::uint32_t place) {
  if (is_uneven(p)) return uneven_chunk_of_output(p, rank, place);
  const std::uint32_t part = p.chunks / p.ranks;
  if (to_next(p)) return (rank + p.ranks - 1) % p.ranks * p.chunks + place;
  if (p.op == Collective::kAllToAll) return place / part * p.chunks + rank * part + place % part;
  return takes_part(p.op) ? rank * part + place : place;
}

Result<CollectiveDemand> demand_of(const ExecutionPlan& p) {
  const bool parts = gives_part(p.op) || takes_part(p.op) || p.op == Collective::kAllToAll;
  if (p.ranks == 0 || p.chunks == 0) return invalid("has no ranks or no chunks", {p.file, 0, 0, ""});
  if (parts && p.chunks % p.ranks != 0)
    return invalid(fmt::format("{} of {} chunks over {} ranks: each rank's part must have whole chunks", name_of(p.op),
                               p.chunks, p.ranks),
                   {p.file, 0, 0, ""});
  if (is_uneven(p) && p.pairs.begin.size() != std::size_t{p.ranks} * p.ranks + 1)
    return Error{ErrorCode::kUnsupported, "an all_to_allv needs the chunks of each pair", {p.file, 0, 0, ""}};
  if (is_uneven(p) && p.in_place)
    return Error{ErrorCode::kUnsupported, "an all_to_allv cannot run in one buffer", {p.file, 0, 0, ""}};
  ScheduleSpec spec;
  spec.algorithm = p.name;
  spec.op = p.op;
  spec.ranks = p.ranks;
  spec.root = p.root;
  spec.pairs = p.pairs;
  Schedule header = blank_schedule(spec, to_next(p) ? p.chunks * p.ranks : p.chunks);
  if (to_next(p)) header.parts = p.chunks;
  if (p.op == Collective::kAllToAll) header = with_finer_chunks(std::move(header), p.chunks / p.ranks);
  return CollectiveDemand(header);
}

}  // namespace busbar::collectives
