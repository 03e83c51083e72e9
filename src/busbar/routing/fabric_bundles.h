// Bundles: cables of fat trees that sprayed traffic always loads alike. Such are the upward cables of a leaf, those of
// a pod's spines, and so on, and the same downward. A route between two leaves is then a few bundles instead of
// thousands of cables. A limit of a bundle is a limit of every cable in it.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/topology/topology.h"

namespace busbar::routing {

/// Bundles exist if equal splitting loads each of them evenly whatever the traffic. That requires:
/// - Each NIC has one port, on a leaf; or several of one rate, each on a leaf of a plane of its own.
/// - Cables join neighbouring tiers only.
/// - The switches of a group have equally many upward cables, all of one class apart from their health, and equally
///   many to each switch above.
/// - Any two groups stand below the same switches or have no switch above in common.
///
/// If one cable between switches is missing, there are no bundles: valid() is false.
class FabricBundles {
 public:
  explicit FabricBundles(const topology::Topology& topology);

  bool valid() const { return valid_; }
  /// Whether the cables of every bundle are of one class. If not, equal splitting is as slow as the slowest cable, and
  /// other splits may be faster.
  bool alike() const { return alike_; }
  /// Both directions counted: 2k goes up, 2k + 1 is the opposite direction.
  std::uint32_t count() const { return 2 * up_.rows(); }
  /// The cables of a bundle in one direction, ascending going up. No bundle is empty.
  topology::LinkId first(std::uint32_t bundle) const;
  std::uint32_t width(std::uint32_t bundle) const { return static_cast<std::uint32_t>(up_.row(bundle / 2).size()); }
  topology::LinkId link(std::uint32_t bundle, std::uint32_t i) const;
  static constexpr std::uint32_t kNoBundle = 0xffff'ffffu;
  /// The bundle of a link; kNoBundle for links that do not join switches.
  std::uint32_t of(topology::LinkId link) const { return bundle_[index(link)]; }
  /// Appends the bundles from one leaf to another in order of hops, none if both are one leaf. False: no path.
  bool between(topology::DeviceId from_leaf, topology::DeviceId to_leaf, std::vector<std::uint32_t>& out) const;

 private:
  struct Group {
    std::uint32_t bundle = kNoBundle;  ///< the upward bundle
    std::uint32_t above = kNoBundle;   ///< the group above
  };
  bool build(const topology::Topology& topology);
  bool nics_have_one_port(const topology::Topology& topology, const std::vector<std::uint8_t>& tier) const;
  bool same_but_for_health(const topology::Topology& topology, topology::LinkId a, topology::LinkId b);
  bool valid_ = false, alike_ = true;
  Csr<topology::LinkId> up_;             ///< per pair of bundles
  std::vector<std::uint32_t> bundle_;    ///< per link
  std::vector<std::uint32_t> group_of_;  ///< per device that is a leaf, else kNoBundle
  std::vector<Group> groups_;
};

}  // namespace busbar::routing
