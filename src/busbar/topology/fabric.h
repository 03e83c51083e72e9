// Fabrics by rule: how many switches a network of a given size needs, and the cables between them.
//
// Trees are built from the same parts: NICs below leaves, leaves below spines, and, where one spine cannot reach all
// leaves, pods of leaves and spines below cores. In a dragonfly and a torus NICs sit on every switch. A fabric may
// stand several times, as planes. One cable is one duplex link; parallel cables are links of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string>

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
  std::uint32_t ports = 0;   ///< at the rate of the links; 0: no limit (the ideal switch)
  bool reduces = false;      ///< adds up payloads on the way (SHARP)
  // Limits of that; 0: none.
  std::uint32_t reduce_trees = 0;
  Bytes reduce_message{0};
  BytesPerSecond reduce_rate{0};
  std::uint32_t splits = 1;  ///< one port may be split into that many of the equal part of its rate
};

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
  SwitchSpec leaf, spine, core;
  LinkClass nic_link, leaf_link, core_link;  ///< NIC to leaf, leaf to spine, spine to core; rate of one cable
  std::uint32_t leaf_down = 0;               ///< ports of a leaf towards NICs; 0: what `oversubscription` leaves
  double oversubscription = 1;               ///< down / up of a leaf; 1: none
  double spine_oversubscription = 1;         ///< down / up of a spine below cores
  std::uint32_t parallel = 0;                ///< cables between one leaf and one spine; 0: as few spines as will do
  std::uint32_t core_parallel = 0;           ///< cables between one spine and one core; 0: as few cores as will do
  std::uint32_t tiers = 0;                   ///< of a tree, 2 or 3; 0: as few as will do
  std::uint32_t planes = 0;                  ///< 0: one, or as many as a port splits into where one does not suffice
  std::uint32_t split = 1;                   ///< ports that each port is split into
  PlaneOrder plane_order = PlaneOrder::kByPort;
  DragonflySpec dragonfly;
  std::array<std::uint32_t, 3> dims{};  ///< torus, in switches; 0: absent dimension
};

/// What a spec comes to for a number of nodes. Switches are counted over all planes, the rest is that of one plane.
struct FabricPlan {
  FabricKind kind = FabricKind::kNone;
  std::uint32_t leaves = 0, spines = 0, cores = 0;
  std::uint32_t planes = 1;
  std::uint32_t split = 1;  ///< cables have this part of the link's rate, switches this many times the ports
  PlaneOrder plane_order = PlaneOrder::kByPort;
  std::uint32_t down = 0;      ///< NIC ports of a leaf
  std::uint32_t up = 0;        ///< spine ports of a leaf that carry cables
  std::uint32_t parallel = 0;  ///< cables per (leaf, spine of its pod)
  std::uint32_t pods = 1, leaves_per_pod = 0, spines_per_pod = 0;
  std::uint32_t cores_per_group = 0;  ///< cores that see spine j of every pod
  std::uint32_t core_parallel = 0;    ///< cables per (spine, core)
  DragonflySpec dragonfly;            ///< as built
  std::uint32_t global_parallel = 0;  ///< cables per pair of groups
  double oversubscription = 1;        ///< NIC cables per uplink of the fullest leaf, as built
};

/// Sizes the fabric. Error kInvalid with the figures when the ports do not suffice.
Result<FabricPlan> plan_fabric(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_node);

/// Adds switches and cables for `nics` (one row per node, NICs in rail order; equally many in each row).
/// Leaves of a rail-optimised fabric are numbered unit by unit, in a unit rail by rail.
/// Names: "switch0", "leaf<i>" (group by group in a dragonfly, first dimension fastest in a torus), "spine<i>" (pod by
/// pod), "core<i>"; numbers run on from plane to plane.
Result<FabricPlan> build_fabric(const FabricSpec& spec, const Csr<DeviceId>& nics, TopologyBuilder& builder);

}  // namespace busbar
