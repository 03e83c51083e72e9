// The state of Router, shared by router.cc (shortest ways) and router_detours.cc. Private to routing.
#pragma once

#include <optional>
#include <unordered_map>

#include "busbar/routing/fabric_table.h"
#include "busbar/routing/internal/block_routes.h"
#include "busbar/routing/no_path.h"
#include "busbar/routing/router.h"

namespace busbar::routing {

/// Calls fill its tables of what was asked for and use its work space: it is one thread's.
struct Router::State {
  /// The cables by which two NICs enter and leave the fabric, and the switches there.
  struct Ports {
    topology::LinkId up, down;
    std::uint32_t a, b;
  };
  using Ways = std::vector<std::vector<topology::LinkId>>;
  /// How a payload crosses the fabric.
  struct Crossing {
    std::uint64_t flow = 0;  ///< the flow's name for static hashing
    bool bundled = false;    ///< bundles replace cables between switches, see `hops`
    const SplitBias& bias = kEqualSplit;
  };
  const topology::Topology& topology;
  topology::RoutingPolicy policy;
  std::uint64_t seed;
  FabricTable fabric;
  BlockRoutes blocks;
  Front front;
  std::optional<FabricBundles> bundles{};
  std::vector<CapacityShare> hops{};                        ///< bundles that the last bundled crossing takes
  std::vector<std::uint32_t> one_way{};                     ///< work space of across_bundled
  std::size_t hops_at = 0;                                  ///< place in its path that they belong to
  std::vector<LinkShare> legs{};                            ///< work space of spread_bundled
  std::unordered_map<std::uint64_t, Ways> known_detours{};  ///< by pair of switches; only looked up

  const topology::Block& block_of(topology::DeviceId d) const { return topology.blocks()[index(topology.block_of(d))]; }
  bool cabled(topology::DeviceId nic) const;
  bool joined(topology::DeviceId nic_a, topology::DeviceId nic_b);
  topology::DeviceId relay_nic(topology::DeviceId gpu, topology::DeviceId far_nic);
  bool across(topology::DeviceId from, topology::DeviceId to, const Crossing& how, std::vector<LinkShare>& out);
  bool across_bundled(topology::DeviceId from, topology::DeviceId to, std::vector<LinkShare>& out);
  bool across_straight(topology::DeviceId from, topology::DeviceId to, const Crossing& how,
                       std::vector<LinkShare>& out);
  /// The number of the switch that all of `nic`'s cables lead to; -1 if they lead to several, or elsewhere.
  std::int32_t only_switch(topology::DeviceId nic) const;
  bool across_hashed(topology::DeviceId at, topology::DeviceId to, std::uint32_t last, int hops, std::uint64_t flow,
                     std::vector<LinkShare>& out);
  bool around(topology::DeviceId from, topology::DeviceId to, const SplitBias& bias, std::vector<LinkShare>& out);
  /// The weight of a link or a way in a split: rate x bias, combined like electrical conductances.
  double pull(topology::LinkId l, const SplitBias& bias) const {
    return topology.payload_rate(l) * (bias.empty() ? 1.0 : double{bias[index(l)]});
  }
  double pull(const std::vector<topology::LinkId>& way, const SplitBias& bias) const;
  void take_detours(topology::DeviceId from, topology::DeviceId to, const SplitBias& bias, std::size_t begin,
                    std::vector<LinkShare>& out);
  void walk(std::uint32_t from, std::uint32_t to, std::uint64_t flow, std::vector<topology::LinkId>& way);
  const Ways& detours(std::uint32_t a, std::uint32_t b);
  Ways find_detours(std::uint32_t a, std::uint32_t b);
  std::vector<Ports> ports_between(topology::DeviceId from, topology::DeviceId to);
  bool over_relays(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from,
                   topology::DeviceId nic_to, const Crossing& how, std::vector<LinkShare>& out);
  Status spread(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from, topology::DeviceId nic_to,
                const Crossing& how, std::vector<LinkShare>& out);
  Error unreachable(topology::DeviceId from, topology::DeviceId to) const { return no_path(topology, from, to); }
};

}  // namespace busbar::routing
