// Calls that are one another moved to other servers (DESIGN 4.4): what is known of one holds for the other.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar::engine {

/// Pairs the servers, cables and switches that call `a` can use with those of call `b`, rank by rank and then upwards,
/// tier by tier. They are alike if the pairing is one to one, all paired parts are of one class, and no switch has
/// more live cables than its partner: then every route of `a` has its image in `b`. Calls are never alike between
/// servers if routes depend on hashes (static and Valiant's routing), if switches of one tier are joined
/// (dragonfly, torus), or if the trees of in-network reduction are chosen by number.
class CallLikeness {
 public:
  CallLikeness(const routing::Router& router, const routing::Placement& placement);

  /// Whether `b` is `a` moved elsewhere. Until the next call image() speaks of these two.
  bool alike(const program::CollectiveCall& a, const program::CollectiveCall& b);
  /// What of the second call is in the place of `c` of the first; CapacityId(): nothing.
  routing::CapacityId image(routing::CapacityId c) const;
  /// Puts the image of each in its place; false, with some done, where one has none.
  bool move(std::vector<routing::CapacityId>& on) const;

 private:
  topology::LinkId image_of_link(topology::LinkId link) const;
  routing::CapacityId image_of_device(topology::DeviceId device) const;
  bool same_nics(const program::CollectiveCall& a, const program::CollectiveCall& b) const;
  bool hashed(const program::CollectiveCall& a) const;
  bool hashed_between_servers(const program::CollectiveCall& call) const;
  bool pair_ranks(const program::CollectiveCall& a, const program::CollectiveCall& b);
  bool within_kept(const program::CollectiveCall& a, const program::CollectiveCall& b) const;
  bool pair_blocks(topology::BlockId a, topology::BlockId b);
  bool pair_cables();
  bool pair_devices(topology::DeviceId a, topology::DeviceId b);
  bool pair_up_links(topology::DeviceId a, topology::DeviceId b);
  void find_tiers();
  void forget();

  collectives::GroupFamily kept_a_, kept_b_;  ///< groups of the current pairing
  bool kept_alike_ = false, kept_by_number_ = true, kept_cables_ = false;
  const routing::Router& router_;
  const topology::Topology& topology_;
  const routing::Placement& placement_;
  bool tiers_known_ = false, level_ = false;                      ///< level_: some switches of one tier are joined
  std::uint8_t top_ = 0;                                          ///< the highest tier
  std::vector<std::uint8_t> tier_;                                ///< per device: switch_tiers()
  Csr<topology::DeviceId> ports_;                                 ///< per block: its devices with cables out of it
  std::vector<topology::DeviceId> device_image_, device_origin_;  ///< per device; kNone between calls
  std::vector<topology::LinkId> cable_image_;                     ///< per link outside servers; kNone between calls
  std::vector<topology::BlockId> block_image_, block_origin_;
  std::vector<topology::BlockId> paired_blocks_;    ///< those of `a`
  std::vector<topology::DeviceId> paired_devices_;  ///< switches of `a`
  std::vector<topology::LinkId> paired_cables_;
};

}  // namespace busbar::engine
