#include "busbar/routing/fabric_table.h"

namespace busbar {

FabricTable::FabricTable(const Topology& topology) {
  const auto switches = topology.fabric_switches();
  first_ = switches.empty() ? topology.device_count() : index(switches.front());
  number_.assign(topology.device_count() - first_, -1);
  for (std::uint32_t i = 0; i < switches.size(); ++i)
    number_[index(switches[i]) - first_] = static_cast<std::int32_t>(i);
  for (const DeviceId d : switches) {
    for (const LinkId l : topology.out_links(d)) {
      const std::int32_t to = number(topology.to(l));
      if (to >= 0) hops_.values.push_back({static_cast<std::uint32_t>(to), l});
    }
    if (topology.kind(d) == DeviceKind::kLeaf || topology.kind(d) == DeviceKind::kSwitch)
      leaves_.push_back(hops_.rows());
    hops_.close_row();
  }
  rows_.resize(switches.size());
  find_webs();
}

void FabricTable::find_webs() {
  constexpr std::uint32_t kNoWeb = UINT32_MAX;
  web_.assign(hops_.rows(), kNoWeb);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t first = 0; first < hops_.rows(); ++first) {
    if (web_[first] != kNoWeb) continue;
    web_[first] = first;
    queue.assign(1, first);
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const Hop& hop : hops_.row(queue[head])) {
        if (web_[hop.to] != kNoWeb) continue;
        web_[hop.to] = first;
        queue.push_back(hop.to);
      }
    }
  }
}

std::int32_t FabricTable::number(DeviceId d) const { return index(d) < first_ ? -1 : number_[index(d) - first_]; }

std::uint8_t FabricTable::distance(std::uint32_t from, std::uint32_t to) {
  if (!joined(from, to)) return kFar;
  Row& row = rows_[to];
  if (row.hops.empty()) {
    row.hops.assign(hops_.rows(), kFar);
    row.hops[to] = 0;
    row.ring.assign(1, to);
  }
  while (row.hops[from] == kFar && !row.ring.empty() && row.radius + 1 < kFar) {
    ++row.radius;
    row.next.clear();
    for (const std::uint32_t at : row.ring) {
      for (const Hop& hop : hops_.row(at)) {
        if (row.hops[hop.to] != kFar) continue;
        row.hops[hop.to] = row.radius;
        row.next.push_back(hop.to);
      }
    }
    std::swap(row.ring, row.next);
  }
  return row.hops[from];
}

}  // namespace busbar
