#include "busbar/routing/fabric_table.h"

namespace busbar {

FabricTable::FabricTable(const Topology& topology) {
  const auto switches = topology.fabric_switches();
  first_ = switches.empty() ? topology.device_count() : index(switches.front());
  number_.assign(topology.device_count() - first_, -1);
  for (std::uint32_t i = 0; i < switches.size(); ++i) number_[index(switches[i]) - first_] = static_cast<std::int32_t>(i);
  for (const DeviceId d : switches) {
    for (const LinkId l : topology.out_links(d)) {
      const std::int32_t to = number(topology.to(l));
      if (to >= 0) hops_.values.push_back({static_cast<std::uint32_t>(to), l});
    }
    hops_.close_row();
  }
  rows_.resize(switches.size());
}

std::int32_t FabricTable::number(DeviceId d) const {
  return index(d) < first_ ? -1 : number_[index(d) - first_];
}

const std::vector<std::uint8_t>& FabricTable::row(std::uint32_t to) {
  std::vector<std::uint8_t>& row = rows_[to];
  if (!row.empty()) return row;
  row.assign(hops_.rows(), kFar);
  row[to] = 0;
  std::vector<std::uint32_t> queue{to};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint8_t next = static_cast<std::uint8_t>(row[queue[head]] + 1);
    if (next == kFar) continue;
    for (const Hop& hop : hops_.row(queue[head]))
      if (row[hop.to] == kFar) {
        row[hop.to] = next;
        queue.push_back(hop.to);
      }
  }
  return row;
}

}  // namespace busbar
