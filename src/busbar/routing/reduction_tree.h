// Trees of switches that add payloads on the way (SHARP): their roots, and the ways up.
#pragma once

#include <span>
#include <vector>

#include "busbar/routing/fabric_table.h"

namespace busbar::routing {

/// Trees are numbered. Trees of different numbers have different roots and use different ways up, if there are several.
/// Only switches that reduce take part.
class ReductionTrees {
 public:
  explicit ReductionTrees(const topology::Topology& topology) : topology_(topology), table_(topology) {}

  /// The cable by which `nic` reaches the nearest switch that reduces, outwards; kNone if there is none.
  topology::LinkId uplink(topology::DeviceId nic) const;
  /// The lowest switch that all `leaves` reach in equally many hops upwards; kNone if there is none.
  topology::DeviceId root(std::span<const topology::DeviceId> leaves, std::uint32_t tree);
  /// Appends the links from `leaf` up to `root`. All ways through a switch are the same from there on, so they form a
  /// tree. False, with nothing appended, if some switch on the way does not reduce.
  bool climb(topology::DeviceId leaf, topology::DeviceId root, std::uint32_t tree, std::vector<topology::LinkId>& out);

 private:
  std::uint32_t number(topology::DeviceId d) const { return static_cast<std::uint32_t>(table_.number(d)); }
  const topology::Topology& topology_;
  FabricTable table_;
};

}  // namespace busbar::routing
