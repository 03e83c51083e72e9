// Trees of switches that add up payloads on the way (SHARP): where they meet, and the way up.
#pragma once

#include <span>
#include <vector>

#include "busbar/routing/fabric_table.h"

namespace busbar {

/// Trees are numbered; those of different numbers meet in different switches and climb different ways where there are
/// several. Only switches that reduce take part.
class ReductionTrees {
 public:
  explicit ReductionTrees(const Topology& topology) : topology_(topology), table_(topology) {}

  /// The cable by which `nic` reaches the nearest switch that reduces, outwards; kNone when there is none.
  LinkId uplink(DeviceId nic) const;
  /// The lowest switch that all `leaves` climb to equally; kNone when there is none.
  DeviceId root(std::span<const DeviceId> leaves, std::uint32_t tree);
  /// Appends the links from `leaf` up to `root`. Whoever passes a switch takes the same way on from there, so that a
  /// tree it is. False, with nothing appended, when some switch on the way does not reduce.
  bool climb(DeviceId leaf, DeviceId root, std::uint32_t tree, std::vector<LinkId>& out);

 private:
  std::uint32_t number(DeviceId d) const { return static_cast<std::uint32_t>(table_.number(d)); }
  const Topology& topology_;
  FabricTable table_;
};

}  // namespace busbar
