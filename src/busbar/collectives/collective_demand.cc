#include "busbar/collectives/collective_demand.h"

#include "busbar/base/check.h"

namespace busbar::collectives {
namespace {

bool joins_pairs(Collective op) { return op == Collective::kAllToAll || op == Collective::kAllToAllV; }

Schedule header_of(const Schedule& s) {
  Schedule h;
  h.op = s.op;
  h.ranks = s.ranks;
  h.root = s.root;
  h.channels = s.channels;
  h.chunks = s.chunks;
  h.parts = s.parts;
  h.pairs = s.pairs;
  h.layout = s.layout;
  h.channel_layouts = s.channel_layouts;
  return h;
}

}  // namespace

CollectiveDemand::CollectiveDemand(const Schedule& schedule) : schedule_(header_of(schedule)) {
  if (joins_pairs(schedule_.op)) number_pairs();
}

std::uint32_t CollectiveDemand::owner(std::uint32_t chunk) const {
  return static_cast<std::uint32_t>(std::uint64_t{schedule_.part_of(chunk)} * schedule_.ranks / schedule_.chunks);
}

/// With two ranks the first sends to the second; with more, each sends to the next.
std::uint32_t CollectiveDemand::sender(std::uint32_t chunk) const {
  return schedule_.parts == 0 ? 0 : chunk / schedule_.parts;
}

void CollectiveDemand::number_pairs() {
  const std::uint32_t n = schedule_.ranks;
  const PairCounts& pairs = schedule_.pairs;
  const std::uint32_t finer = schedule_.chunks / (pairs.first(n, n - 1, n - 1) + pairs.count(n, n - 1, n - 1));
  for (std::uint32_t src = 0; src < n; ++src)
    for (std::uint32_t dst = 0; dst < n; ++dst) {
      source_of_.insert(source_of_.end(), std::size_t{pairs.count(n, src, dst)} * finer, src);
      destination_of_.insert(destination_of_.end(), std::size_t{pairs.count(n, src, dst)} * finer, dst);
    }
  BUSBAR_CHECK(source_of_.size() == schedule_.chunks) << "pairs hold " << source_of_.size() << " chunks";
}

bool CollectiveDemand::has_input(std::uint32_t actor, std::uint32_t chunk) const {
  if (actor >= schedule_.ranks) return false;
  if (joins_pairs(schedule_.op)) return chunk < source_of_.size() && source_of_[chunk] == actor;
  if (schedule_.op == Collective::kAllGather || schedule_.op == Collective::kGather) return owner(chunk) == actor;
  if (schedule_.op == Collective::kBroadcast || schedule_.op == Collective::kScatter) return actor == schedule_.root;
  if (schedule_.op == Collective::kSendRecv) return actor == sender(chunk);
  return true;
}

bool CollectiveDemand::has_output(std::uint32_t actor, std::uint32_t chunk) const {
  if (actor >= schedule_.ranks) return false;
  if (joins_pairs(schedule_.op)) return chunk < destination_of_.size() && destination_of_[chunk] == actor;
  if (schedule_.op == Collective::kReduceScatter || schedule_.op == Collective::kScatter) return owner(chunk) == actor;
  if (schedule_.op == Collective::kReduce || schedule_.op == Collective::kGather) return actor == schedule_.root;
  if (schedule_.op == Collective::kSendRecv) return actor == (sender(chunk) + 1) % schedule_.ranks;
  return true;
}

}  // namespace busbar::collectives
