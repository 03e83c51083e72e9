#include "busbar/routing/internal/shape_table.h"

namespace busbar::routing {
namespace {

bool forwards(topology::DeviceKind k, RouteLevel level) {
  if (topology::is_endpoint(k) || k == topology::DeviceKind::kNic) return false;
  return level == RouteLevel::kAnyInside ||
         (k != topology::DeviceKind::kCpu && k != topology::DeviceKind::kNuma && k != topology::DeviceKind::kRootPort);
}

}  // namespace

ShapeTable::ShapeTable(const topology::Topology& topology, const topology::Block& block, RouteLevel level)
    : level_(level) {
  std::vector<std::uint32_t> places;
  transit_.assign(block.device_count, -1);
  std::uint32_t gpus = 0;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const topology::DeviceKind kind = topology.kind(static_cast<topology::DeviceId>(block.first_device + p));
    gpus_before_.push_back(gpus);
    gpus += kind == topology::DeviceKind::kGpu;
    if (!forwards(kind, level)) continue;
    transit_[p] = static_cast<std::int32_t>(places.size());
    places.push_back(p);
  }
  count_ = static_cast<std::uint32_t>(places.size());
  for (const std::uint32_t p : places) {
    for (const topology::LinkId l : topology.out_links(static_cast<topology::DeviceId>(block.first_device + p))) {
      const std::uint32_t to = index(topology.to(l)) - block.first_device;  // wraps to a large number if outside
      if (to >= block.device_count || !allows(topology.link_class(l))) continue;
      if (topology.kind(topology.to(l)) == topology::DeviceKind::kNic) nics_.values.push_back(to);
      if (transit_[to] < 0) continue;
      hops_.values.push_back({static_cast<std::uint32_t>(transit_[to]), index(l) - block.first_link});
    }
    hops_.close_row();
    nics_.close_row();
  }
  distance_.assign(std::size_t{count_} * count_, kFar);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t to = 0; to < count_; ++to) {  // links are two-way, so the distance from `to` is the distance to it
    distance_[to * count_ + to] = 0;
    queue.assign(1, to);
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::uint32_t t = queue[head];
      const std::uint8_t next = static_cast<std::uint8_t>(distance_[t * count_ + to] + 1);
      for (const Hop& hop : hops_.row(t)) {
        std::uint8_t& d = distance_[hop.transit * count_ + to];
        if (d == kFar && next < kFar) {
          d = next;
          queue.push_back(hop.transit);
        }
      }
    }
  }
}

}  // namespace busbar::routing
