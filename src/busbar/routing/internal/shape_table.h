// Distances inside one shape of block, by template places; made once per shape for all its blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/topology/topology.h"

namespace busbar::routing {

/// The links that a payload may use inside a block, in order of preference: scale-up links over their own switches
/// (hosts with such links forward nothing), or all links.
enum class RouteLevel : std::uint8_t { kScaleUp, kAnyInside };

/// Hops between the transit devices (switches, sockets, NUMA nodes) of a block over the links of one level.
class ShapeTable {
 public:
  static constexpr std::uint8_t kFar = 255;

  ShapeTable(const topology::Topology& topology, const topology::Block& block, RouteLevel level);
  /// Transit number of a template place, or -1: only transit devices forward.
  std::int32_t transit(std::uint32_t place) const { return transit_[place]; }
  std::uint8_t distance(std::uint32_t from_transit, std::uint32_t to_transit) const {
    return distance_[from_transit * count_ + to_transit];
  }
  std::uint32_t transits() const { return count_; }
  struct Hop {
    std::uint32_t transit;
    std::uint32_t link;  ///< relative to Block::first_link
  };
  std::span<const Hop> hops(std::uint32_t transit) const { return hops_.row(transit); }
  /// Places of the NICs with a live link to a transit device.
  std::span<const std::uint32_t> nics(std::uint32_t transit) const { return nics_.row(transit); }
  /// The number of GPUs before a place.
  std::uint32_t gpus_before(std::uint32_t place) const { return gpus_before_[place]; }
  bool allows(const topology::LinkClass& c) const {
    return level_ == RouteLevel::kAnyInside || topology::is_scale_up(c.kind);
  }

 private:
  RouteLevel level_;
  std::uint32_t count_ = 0;
  std::vector<std::int32_t> transit_;
  std::vector<std::uint8_t> distance_;
  Csr<Hop> hops_;
  Csr<std::uint32_t> nics_;
  std::vector<std::uint32_t> gpus_before_;
};

}  // namespace busbar::routing
