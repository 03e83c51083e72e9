// Fabrics by rule: how many switches a network of a given size needs, and the cables between them.
//
// Trees are built from the same parts: NICs below leaves, leaves below spines, and, where one spine cannot reach all
// leaves, pods of leaves and spines below cores, and so on. In a dragonfly and a torus NICs sit on every switch. A
// fabric may stand several times, as planes. One cable is one duplex link; parallel cables are links of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar {

enum class FabricKind : std::uint8_t {
  kNone,           ///< no cables
  kSingleSwitch,   ///< every NIC on one switch
  kLeafSpine,      ///< nodes fill leaf after leaf
  kRailOptimised,  ///< NIC r of every node on a leaf of rail r; the spines join all leaves
  kFatTree,        ///< leaf-spine of three tiers, unless `tiers` says otherwise
  kRailOnly,       ///< every rail a fabric of its own; nothing joins the rails
  kDragonfly,      ///< groups of switches, all-to-all inside and between groups
  kTorus,          ///< switches in a ring, a 2D or a 3D torus
};
constexpr FabricKind kLastFabricKind = FabricKind::kTorus;
const char* name_of(FabricKind kind);  ///< "none", "single-switch", "leaf-spine", "rail-optimised", "fat-tree", ...

/// Where the NICs of a leaf-spine fabric go.
enum class NicOrder : std::uint8_t {
  kByNode,  ///< all NICs of a node on one leaf
  kDealt,   ///< NIC after NIC to leaf after leaf, round and round
};

/// What the planes of a fabric share out.
enum class PlaneOrder : std::uint8_t {
  kByPort,  ///< every NIC has a port on each plane
  kByNic,   ///< NIC i of a node is on plane i modulo planes; no cable joins the planes
};

struct SwitchSpec {
  std::string part;
  std::uint32_t ports = 0;      ///< 0: no limit (the ideal switch)
  BytesPerSecond port_rate{0};  ///< of those ports; 0: that of whatever cable is put in
  bool reduces = false;         ///< adds up payloads on the way (SHARP)
  // Limits of that; 0: none.
  std::uint32_t reduce_trees = 0;
  Bytes reduce_message{0};
  BytesPerSecond reduce_rate{0};
  std::uint32_t splits = 1;  ///< one port may be split into that many of the equal part of its rate
};

/// A tier of switches and its cables to the tier above. In a dragonfly and a torus tier 0 has the switches; its `up`
/// joins them, in a dragonfly within a group, and that of tier 1 joins groups.
struct TierSpec {
  SwitchSpec switches;
  LinkClass up;                 ///< rate of one cable
  double oversubscription = 1;  ///< rate down / rate up of one of its switches; 1: none
  std::uint32_t parallel = 0;   ///< cables between one of its switches and one above; 0: below the top tier as few
                                ///< switches there as will do, else 1
};
constexpr std::uint32_t kMostTiers = 8;  ///< more than any hall needs: 4^8 / 2^7 NICs on switches of four ports

/// A dragonfly's sizes; 0: balanced for the ports (a = 2p = 2h), as many groups as the NICs need.
/// Source: Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008.
struct DragonflySpec {
  std::uint32_t groups = 0;   ///< g, at most a * h + 1
  std::uint32_t routers = 0;  ///< a, switches in a group
  std::uint32_t nics = 0;     ///< p, NICs on a switch
  std::uint32_t globals = 0;  ///< h, cables of a switch to other groups
};

struct FabricSpec {
  FabricKind kind = FabricKind::kNone;
  NicOrder nic_order = NicOrder::kByNode;
  LinkClass nic_link;                                       ///< NIC to leaf; rate of one cable
  std::vector<TierSpec> levels = std::vector<TierSpec>(3);  ///< leaves, spines, cores, ...; not empty
  std::uint32_t leaf_down = 0;  ///< ports of a leaf towards NICs; 0: what its over-subscription leaves
  std::uint32_t tiers = 0;      ///< of a tree, 2 to kMostTiers; 0: 2 or 3, as few as will do
  std::uint32_t planes = 0;     ///< 0: one, or as many as a port splits into where one does not suffice
  std::uint32_t split = 1;      ///< ports that each port is split into
  PlaneOrder plane_order = PlaneOrder::kByPort;
  DragonflySpec dragonfly;
  std::array<std::uint32_t, 3> dims{};  ///< torus, in switches; 0: absent dimension

  /// Leaves are tier 0. Those above the last that is stated are like it.
  const TierSpec& tier(std::size_t k) const { return levels[std::min(k, levels.size() - 1)]; }
};

/// One tier of a tree as built. A pod of tier k is what one of its switches can reach downwards; a leaf is a pod.
struct TierPlan {
  std::uint32_t switches = 0;  ///< of all planes; the rest is that of one plane
  std::uint32_t pods = 1;
  std::uint32_t per_pod = 1;   ///< its switches in a pod
  std::uint32_t below = 0;     ///< pods of the tier below in a pod; 0: a leaf
  std::uint32_t group = 1;     ///< its switches that see the same switch of every pod below
  std::uint32_t parallel = 0;  ///< cables between one of those and one of these
};

/// What a spec comes to for a number of nodes.
struct FabricPlan {
  FabricKind kind = FabricKind::kNone;
  std::vector<TierPlan> tiers;  ///< leaves (or the only switch) first
  std::uint32_t planes = 1;
  std::uint32_t split = 1;  ///< cables have this part of the link's rate, switches this many times the ports
  PlaneOrder plane_order = PlaneOrder::kByPort;
  std::uint32_t down = 0;             ///< NIC ports of a leaf
  DragonflySpec dragonfly;            ///< as built
  std::uint32_t global_parallel = 0;  ///< cables per pair of groups
  double oversubscription = 1;        ///< rate of NIC cables per rate of uplinks of the fullest leaf, as built

  /// Switches of tier k over all planes; 0 where there is no such tier.
  std::uint32_t switches(std::size_t k) const { return k < tiers.size() ? tiers[k].switches : 0; }
  std::uint32_t leaves() const { return switches(0); }
  std::uint32_t spines() const { return switches(1); }
  std::uint32_t cores() const { return switches(2); }
};

/// Sizes the fabric. Error kInvalid with the figures when the ports do not suffice.
Result<FabricPlan> plan_fabric(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_node);

/// Adds switches and cables for `nics` (one row per node, NICs in rail order; equally many in each row).
/// Leaves of a rail-optimised fabric are numbered unit by unit, in a unit rail by rail.
/// Names: "switch0", "leaf<i>" (group by group in a dragonfly, first dimension fastest in a torus), "spine<i>" (pod by
/// pod), "core<i>", above them "tier4_<i>" and so on (of the kind of cores); numbers run on from plane to plane.
Result<FabricPlan> build_fabric(const FabricSpec& spec, const Csr<DeviceId>& nics, TopologyBuilder& builder);

}  // namespace busbar
