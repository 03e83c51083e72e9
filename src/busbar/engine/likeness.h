// Calls that are one another moved to other servers (DESIGN 4.4): what is known of one holds for the other.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar {

/// Pairs the servers, cables and switches that call `a` can use with those of call `b`, rank by rank and then upwards,
/// tier by tier. They are alike if the pairing is one to one, all paired parts are of one class, and no switch has
/// more live cables than its partner: then every route of `a` has its image in `b`. Calls are never alike between
/// servers if routes depend on hashes (static and Valiant's routing), if switches of one tier are joined
/// (dragonfly, torus), or if the trees of in-network reduction are chosen by number.
class CallLikeness {
 public:
  CallLikeness(const Router& router, const Placement& placement);

  /// Whether `b` is `a` moved elsewhere. Until the next call image() speaks of these two.
  bool alike(const CollectiveCall& a, const CollectiveCall& b);
  /// What of the second call is in the place of `c` of the first; CapacityId(): nothing.
  CapacityId image(CapacityId c) const;
  /// Puts the image of each in its place; false, with some done, where one has none.
  bool move(std::vector<CapacityId>& on) const;

 private:
  LinkId image_of_link(LinkId link) const;
  CapacityId image_of_device(DeviceId device) const;
  bool same_nics(const CollectiveCall& a, const CollectiveCall& b) const;
  bool hashed(const CollectiveCall& a) const;
  bool hashed_between_servers(const CollectiveCall& call) const;
  bool pair_ranks(const CollectiveCall& a, const CollectiveCall& b);
  bool within_kept(const CollectiveCall& a, const CollectiveCall& b) const;
  bool pair_blocks(BlockId a, BlockId b);
  bool pair_cables();
  bool pair_devices(DeviceId a, DeviceId b);
  bool pair_up_links(DeviceId a, DeviceId b);
  void find_tiers();
  void forget();

  GroupFamily kept_a_, kept_b_;  ///< groups of the current pairing
  bool kept_alike_ = false, kept_by_number_ = true, kept_cables_ = false;
  const Router& router_;
  const Topology& topology_;
  const Placement& placement_;
  bool tiers_known_ = false, level_ = false;            ///< level_: some switches of one tier are joined
  std::uint8_t top_ = 0;                                ///< the highest tier
  std::vector<std::uint8_t> tier_;                      ///< per device: switch_tiers()
  Csr<DeviceId> ports_;                                 ///< per block: its devices with cables out of it
  std::vector<DeviceId> device_image_, device_origin_;  ///< per device; kNone between calls
  std::vector<LinkId> cable_image_;                     ///< per link outside servers; kNone between calls
  std::vector<BlockId> block_image_, block_origin_;
  std::vector<BlockId> paired_blocks_;    ///< those of `a`
  std::vector<DeviceId> paired_devices_;  ///< switches of `a`
  std::vector<LinkId> paired_cables_;
};

}  // namespace busbar
