// From one device to another: the links crossed, under a policy. Never a stored list of paths.
//
// Inside a block: breadth-first distances over the block's transit devices, once per shape (not per block); chips of a
// torus by their coordinates. Between blocks: distances over the fabric's switches towards one attachment switch at a
// time, as far as was asked. docs/models/routing.md says what is modelled.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/routing/fabric_bundles.h"
#include "busbar/routing/link_share.h"
#include "busbar/routing/split_bias.h"
#include "busbar/topology/routing_policy.h"
#include "busbar/topology/topology.h"

namespace busbar {

class Router {
 public:
  Router(const Topology& topology, RoutingPolicy policy, std::uint64_t seed = 0);
  ~Router();
  Router(Router&&) noexcept;

  /// Appends the links that a payload from GPU `from` to GPU `to` crosses, in order of hops. Inside a block: scale-up
  /// links straight or over switches, then over other GPUs, then the server's own. Between blocks the payload leaves by
  /// `nic_from` and arrives by `nic_to`; where no fabric joins the two (rail-only), it first goes over scale-up links
  /// to the GPU beside a NIC that is joined to `nic_to`. `route_kind` says which it was. Error kUnreachable names the
  /// pair. `bias`: how policy kAdaptive splits over the fabric.
  Status spread(DeviceId from, DeviceId to, DeviceId nic_from, DeviceId nic_to, std::uint64_t flow,
                std::vector<LinkShare>& out, const SplitBias& bias = kEqualSplit) const;
  /// The same with the cables between switches taken together: bundle b is the link numbered bundle_link(b).
  /// Precondition: bundles() is not null.
  Status spread_bundled(DeviceId from, DeviceId to, DeviceId nic_from, DeviceId nic_to,
                        std::vector<LinkShare>& out) const;
  /// Null where sprayed traffic does not load cables in bundles, or traffic is not sprayed, or a split other than the
  /// equal one could be better and is sought. Made when first asked for.
  const FabricBundles* bundles() const;
  /// Whether routing is adaptive and there is more to choose than among cables that any traffic loads alike.
  bool splits() const { return policy() == RoutingPolicy::kAdaptive && bundles() == nullptr; }
  /// Behind all links and all devices, so that limits of devices can be numbered in between.
  LinkId bundle_link(std::uint32_t bundle) const {
    return static_cast<LinkId>(topology().link_count() + topology().device_count() + bundle);
  }
  /// The NIC nearest to `gpu` for `channel` (fewest hops, then lowest number; ties rotate by GPU and channel);
  /// kNone when its block has none.
  DeviceId nearest_nic(DeviceId gpu, std::uint32_t channel) const;

  /// All NICs that are equally near and have a cable; channel c uses number c modulo their count.
  std::vector<DeviceId> nearest_nics(DeviceId gpu) const;

  /// The NIC by which `gpu`, whose own one is `own`, sends to `far`: the one on the same rail (the same place in a
  /// server of the same sort) when the GPU gets there as well, over NVLink if need be (NCCL's PXN); else `own`.
  DeviceId exit_nic(DeviceId gpu, DeviceId own, DeviceId far) const;

  /// Whether a live cable leaves `nic`'s block: storage NICs and NICs with a dead cable have none.
  bool has_cable(DeviceId nic) const;

  const Topology& topology() const;
  RoutingPolicy policy() const;

 private:
  friend class PairSpread;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace busbar
