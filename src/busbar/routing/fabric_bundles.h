// Cables of fat trees that sprayed traffic always loads alike, taken together: the cables of a leaf upwards, those of a
// pod's spines upwards, and so on, and the same downwards. A route between two leaves is then a few bundles instead of
// thousands of cables, and a limit of each bundle is a limit of every cable in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Where equal splitting loads a bundle evenly whatever the traffic: each NIC has one port, on a leaf; cables join
/// neighbouring tiers only; the switches of a group have equally many cables upwards, all of one class but for their
/// health, equally many to each switch above them; and two groups stand below the same switches or below none in
/// common. One missing cable between switches, and there are no bundles: valid() is false.
class FabricBundles {
 public:
  explicit FabricBundles(const Topology& topology);

  bool valid() const { return valid_; }
  /// Whether the cables of every bundle are of one class. Else equal splitting is as slow as the slowest of each, and
  /// other splits may be better.
  bool alike() const { return alike_; }
  /// Both ways counted: 2k goes up, 2k + 1 is its way back.
  std::uint32_t count() const { return 2 * up_.rows(); }
  /// Cables of a bundle one way, ascending going up; never empty.
  LinkId first(std::uint32_t bundle) const;
  std::uint32_t width(std::uint32_t bundle) const { return static_cast<std::uint32_t>(up_.row(bundle / 2).size()); }
  LinkId link(std::uint32_t bundle, std::uint32_t i) const;
  static constexpr std::uint32_t kNoBundle = 0xffff'ffffu;
  /// The bundle of a link; kNoBundle for links that do not join switches.
  std::uint32_t of(LinkId link) const { return bundle_[index(link)]; }
  /// Appends the bundles from one leaf to another in order of hops: none when they are one. False: nothing joins them.
  bool between(DeviceId from_leaf, DeviceId to_leaf, std::vector<std::uint32_t>& out) const;

 private:
  struct Group {
    std::uint32_t bundle = kNoBundle;  ///< upwards
    std::uint32_t above = kNoBundle;   ///< the group there
  };
  bool build(const Topology& topology);
  bool nics_have_one_port(const Topology& topology, const std::vector<std::uint8_t>& tier) const;
  bool same_but_for_health(const Topology& topology, LinkId a, LinkId b);
  bool valid_ = false, alike_ = true;
  Csr<LinkId> up_;                       ///< per pair of bundles
  std::vector<std::uint32_t> bundle_;    ///< per link
  std::vector<std::uint32_t> group_of_;  ///< per device that is a leaf, else kNoBundle
  std::vector<Group> groups_;
};

}  // namespace busbar
