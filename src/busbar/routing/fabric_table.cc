#include "busbar/routing/fabric_table.h"

#include <algorithm>
#include <map>

namespace busbar::routing {

FabricTable::FabricTable(const topology::Topology& topology) {
  const auto switches = topology.fabric_switches();
  first_ = switches.empty() ? topology.device_count() : index(switches.front());
  number_.assign(topology.device_count() - first_, -1);
  for (std::uint32_t i = 0; i < switches.size(); ++i)
    number_[index(switches[i]) - first_] = static_cast<std::int32_t>(i);
  for (const topology::DeviceId d : switches) {
    for (const topology::LinkId l : topology.out_links(d)) {
      const std::int32_t to = number(topology.to(l));
      if (to >= 0) hops_.values.push_back({static_cast<std::uint32_t>(to), l});
    }
    if (topology.kind(d) == topology::DeviceKind::kLeaf || topology.kind(d) == topology::DeviceKind::kSwitch)
      leaves_.push_back(hops_.rows());
    hops_.close_row();
  }
  for (const std::uint32_t leaf : leaves_)
    for (const Hop& hop : hops_.row(leaf)) flat_ = flat_ || std::binary_search(leaves_.begin(), leaves_.end(), hop.to);
  find_islands();
  find_twins();
}

void FabricTable::find_twins() {
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;  // distinct neighbours, and their class
  std::vector<std::uint32_t> first;                           // member of each class
  std::vector<std::uint32_t> around;
  for (std::uint32_t s = 0; s < hops_.rows(); ++s) {
    around.clear();
    for (const Hop& hop : hops_.row(s)) around.push_back(hop.to);
    std::sort(around.begin(), around.end());
    around.erase(std::unique(around.begin(), around.end()), around.end());
    const auto next = static_cast<std::uint32_t>(first.size());
    const std::uint32_t c = around.empty() ? next : known.try_emplace(around, next).first->second;
    class_.push_back(c);
    if (c == next) first.push_back(s);
  }
  for (const std::uint32_t s : first) {
    const std::size_t begin = steps_.values.size();
    for (const Hop& hop : hops_.row(s)) steps_.values.push_back(class_[hop.to]);
    const auto from = steps_.values.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(from, steps_.values.end());
    steps_.values.erase(std::unique(from, steps_.values.end()), steps_.values.end());
    steps_.close_row();
  }
  rows_.resize(first.size());
  for (const Hop& hop : hops_.values) hop_class_.push_back(class_[hop.to]);
}

void FabricTable::find_islands() {
  constexpr std::uint32_t kNoIsland = UINT32_MAX;
  island_.assign(hops_.rows(), kNoIsland);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t first = 0; first < hops_.rows(); ++first) {
    if (island_[first] != kNoIsland) continue;
    island_[first] = first;
    queue.assign(1, first);
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const Hop& hop : hops_.row(queue[head])) {
        if (island_[hop.to] != kNoIsland) continue;
        island_[hop.to] = first;
        queue.push_back(hop.to);
      }
    }
  }
}

std::int32_t FabricTable::number(topology::DeviceId d) const {
  return index(d) < first_ ? -1 : number_[index(d) - first_];
}

// HOT: bench ar-c-65536, ar-d-65536. About 64 ports at each of five switches on a way.
void FabricTable::links_towards(std::uint32_t from, std::uint32_t to, int left,
                                std::vector<topology::LinkId>& out) const {
  const std::uint32_t b = class_[to];
  const std::uint8_t* row = rows_[b].hops.data();
  for (std::uint32_t i = hops_.begin[from]; i < hops_.begin[from + 1]; ++i) {
    const std::uint32_t c = hop_class_[i];
    const int hops = c != b ? row[c] : hops_.values[i].to == to ? 0 : kBetweenTwins;
    if (hops == left) out.push_back(hops_.values[i].link);
  }
}

std::uint8_t FabricTable::distance(std::uint32_t from, std::uint32_t to) {
  if (!joined(from, to)) return kFar;
  const std::uint32_t a = class_[from], b = class_[to];
  if (from == to) return 0;
  Row& row = rows_[b];
  if (row.hops.empty()) {
    row.hops.assign(rows_.size(), kFar);
    row.hops[b] = 0;
    row.ring.assign(1, b);
  }
  const auto reached = [&] { return a == b ? row.radius > 0 : row.hops[a] != kFar; };  // twins: a switch between
  while (!reached() && !row.ring.empty() && row.radius + 1 < kFar) {
    ++row.radius;
    row.next.clear();
    for (const std::uint32_t at : row.ring) {
      for (const std::uint32_t c : steps_.row(at)) {
        if (row.hops[c] != kFar) continue;
        row.hops[c] = row.radius;
        row.next.push_back(c);
      }
    }
    std::swap(row.ring, row.next);
  }
  return a == b ? kBetweenTwins : row.hops[a];
}

}  // namespace busbar::routing
