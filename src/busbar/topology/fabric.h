// Fabrics by rule: the number of switches for a network of a given size, and the cables between them.
//
// Trees are built from the same parts: NICs below leaves and leaves below spines. If one spine cannot reach all leaves,
// pods of leaves and spines stand below cores, and so on. In a dragonfly and a torus every switch has NICs. A fabric
// may exist several times, as planes. One cable is one duplex link; parallel cables are separate links.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar::topology {

enum class FabricKind : std::uint8_t {
  kNone,           ///< no cables
  kSingleSwitch,   ///< every NIC on one switch
  kLeafSpine,      ///< nodes fill leaf after leaf
  kRailOptimised,  ///< NIC r of every node on a leaf of rail r; the spines join all leaves
  kFatTree,        ///< leaf-spine of three tiers, unless `tiers` gives another number
  kRailOnly,       ///< every rail is a separate fabric; nothing joins the rails
  kDragonfly,      ///< groups of switches, all-to-all inside and between groups
  kTorus,          ///< switches in a ring, a 2D or a 3D torus
};
constexpr FabricKind kLastFabricKind = FabricKind::kTorus;
const char* name_of(FabricKind kind);  ///< "none", "single-switch", "leaf-spine", "rail-optimised", "fat-tree", ...

/// How the NICs of a leaf-spine fabric are distributed over leaves.
enum class NicOrder : std::uint8_t {
  kByNode,  ///< all NICs of a node on one leaf
  kDealt,   ///< one NIC per leaf in turn
};
const char* name_of(NicOrder order);  ///< "by-node", "dealt"

/// How planes divide the ports of NICs.
enum class PlaneOrder : std::uint8_t {
  kByPort,  ///< every NIC has a port on each plane
  kByNic,   ///< NIC i of a node is on plane i modulo planes; no cable joins the planes
};

struct SwitchSpec {
  std::string part;
  std::uint32_t ports = 0;      ///< 0: no limit (the ideal switch)
  BytesPerSecond port_rate{0};  ///< of those ports; 0: the rate of the cable in it
  bool reduces = false;         ///< adds payloads on the way (SHARP)
  // Limits of the reduction; 0: none.
  std::uint32_t reduce_trees = 0;
  Bytes reduce_message{0};
  BytesPerSecond reduce_rate{0};
  std::uint32_t splits = 1;  ///< a port may be split into so many ports of equal rate
};

/// A tier of switches and its cables to the tier above. In a dragonfly and a torus tier 0 has all switches, and its
/// `up` cables join them: in a dragonfly those of one group. There the `up` cables of tier 1 join groups.
struct TierSpec {
  SwitchSpec switches;
  LinkClass up;                 ///< rate of one cable
  double oversubscription = 1;  ///< rate down / rate up of one of its switches; 1: none
  std::uint32_t parallel = 0;   ///< cables between one of its switches and one above; 0: for the fewest switches if the
                                ///< tier above is the top, otherwise 1
};
constexpr std::uint32_t kMostTiers = 8;  ///< no hall needs more: 4^8 / 2^7 NICs on switches of four ports

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
  std::uint32_t leaf_down = 0;  ///< ports of a leaf towards NICs; 0: computed from its over-subscription
  std::uint32_t tiers = 0;      ///< of a tree, 2 to kMostTiers; 0: the fewest that suffice, 2 or 3
  std::uint32_t planes = 0;     ///< 0: one; if one does not suffice, as many as a port splits into
  std::uint32_t split = 1;      ///< ports that each port is split into
  PlaneOrder plane_order = PlaneOrder::kByPort;
  DragonflySpec dragonfly;
  std::array<std::uint32_t, 3> dims{};  ///< torus, in switches; 0: no such dimension

  /// Leaves are tier 0. Tiers above the last one stated are like it.
  const TierSpec& tier(std::size_t k) const { return levels[std::min(k, levels.size() - 1)]; }
};

/// One tier of a tree as built. A pod of tier k is all that one of its switches can reach downwards; a leaf is a pod.
struct TierPlan {
  std::uint32_t switches = 0;  ///< of all planes; the other members are per plane
  std::uint32_t pods = 1;
  std::uint32_t per_pod = 1;   ///< its switches in a pod
  std::uint32_t below = 0;     ///< pods of the tier below in a pod; 0: a leaf
  std::uint32_t group = 1;     ///< switches connected to the same switch of every pod below
  std::uint32_t parallel = 0;  ///< cables between one of those switches and one of this tier
};

/// The fabric that a spec gives for a number of nodes.
struct FabricPlan {
  FabricKind kind = FabricKind::kNone;
  std::vector<TierPlan> tiers;  ///< leaves (or the only switch) first
  std::uint32_t planes = 1;
  std::uint32_t split = 1;  ///< cables have 1 / split of the link's rate, switches split times the ports
  PlaneOrder plane_order = PlaneOrder::kByPort;
  std::uint32_t down = 0;             ///< NIC ports of a leaf
  DragonflySpec dragonfly;            ///< as built
  std::uint32_t global_parallel = 0;  ///< cables per pair of groups
  /// Rate of NIC cables / rate of uplinks, of the fullest leaf, as built. Of a dragonfly: rate of the NIC ports of half
  /// of its groups / rate of the cables to the other half, and at least 1.
  double oversubscription = 1;

  /// Switches of tier k over all planes; 0 if there is no such tier.
  std::uint32_t switches(std::size_t k) const { return k < tiers.size() ? tiers[k].switches : 0; }
  std::uint32_t leaves() const { return switches(0); }
  std::uint32_t spines() const { return switches(1); }
  std::uint32_t cores() const { return switches(2); }
};

/// Sizes the fabric. Error kInvalid, with the figures, if the ports do not suffice.
Result<FabricPlan> plan_fabric(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_node);

/// Adds switches and cables for `nics` (one row per node, NICs in rail order, equally many per row). Leaves of a
/// rail-optimised fabric are numbered unit by unit, and in a unit rail by rail.
/// Names: "switch0", "leaf<i>" (group by group in a dragonfly, first dimension fastest in a torus), "spine<i>" (pod by
/// pod), "core<i>", above them "tier4_<i>" and so on (of the kind of cores). Numbers continue from plane to plane.
Result<FabricPlan> build_fabric(const FabricSpec& spec, const Csr<DeviceId>& nics, TopologyBuilder& builder);

}  // namespace busbar::topology
