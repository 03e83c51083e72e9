// From one device to another: the links crossed, under a policy. It stores no list of paths.
//
// Inside a block: breadth-first distances over the block's transit devices, once per shape (not per block); chips of a
// torus by their coordinates. Between blocks: distances over the fabric's switches towards one switch at a time, only
// as far as requested. docs/models/routing.md says what is modelled.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/routing/capacity.h"
#include "busbar/routing/fabric_bundles.h"
#include "busbar/routing/link_share.h"
#include "busbar/routing/split_bias.h"
#include "busbar/topology/routing_policy.h"
#include "busbar/topology/topology.h"

namespace busbar::routing {

class Router {
 public:
  /// `pxn`: GPUs may send by NICs next to other GPUs, over NVLink (NCCL_PXN_DISABLE turns it off).
  Router(const topology::Topology& topology, topology::RoutingPolicy policy, std::uint64_t seed = 0, bool pxn = true);
  ~Router();
  Router(Router&&) noexcept;

  /// Appends the links that a payload from GPU `from` to GPU `to` crosses, in order of hops. Inside a block, in order
  /// of preference: scale-up links, direct or over switches; over other GPUs; the server's own links. Between blocks
  /// the payload leaves by `nic_from` and arrives by `nic_to`. If no fabric joins the two (rail-only), it first goes
  /// over scale-up links to the GPU next to a NIC that is joined to `nic_to`. `route_kind` tells these cases apart.
  /// Error kUnreachable names the pair. `bias`: how policy kAdaptive splits over the fabric.
  Status spread(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from, topology::DeviceId nic_to,
                std::uint64_t flow, std::vector<LinkShare>& out, const SplitBias& bias = kEqualSplit) const;
  /// The same with bundles instead of cables between switches. Precondition: bundles() is not null.
  Status spread_bundled(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from,
                        topology::DeviceId nic_to, std::vector<CapacityShare>& out) const;
  /// Null if sprayed traffic does not load cables in bundles, if traffic is not sprayed, or if a better split than the
  /// equal one is sought. Made at the first request.
  const FabricBundles* bundles() const;
  /// Whether routing is adaptive and has more choice than cables that any traffic loads alike.
  bool splits() const { return policy() == topology::RoutingPolicy::kAdaptive && bundles() == nullptr; }
  /// The NIC nearest to `gpu` for `channel` (fewest hops, then lowest number; ties rotate by GPU and channel); kNone if
  /// its block has none.
  topology::DeviceId nearest_nic(topology::DeviceId gpu, std::uint32_t channel) const;

  /// All equally near NICs that have a cable; channel c uses number c modulo their count.
  std::vector<topology::DeviceId> nearest_nics(topology::DeviceId gpu) const;

  /// The NIC by which `gpu`, whose own one is `own`, sends to `far`. It is the one on the same rail (the same place in
  /// a server of the same kind) if the GPU reaches it as well as `own`, perhaps over NVLink (NCCL's PXN). Otherwise
  /// `own`.
  topology::DeviceId exit_nic(topology::DeviceId gpu, topology::DeviceId own, topology::DeviceId far) const;

  /// Whether a live cable connects `nic` outside its block: storage NICs and NICs with a dead cable have none.
  bool has_cable(topology::DeviceId nic) const;

  const topology::Topology& topology() const;
  topology::RoutingPolicy policy() const;

 private:
  friend class PairSpread;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace busbar::routing
