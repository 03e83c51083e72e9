// Fabrics by rule: how many switches a network of a given size needs, and the cables between them.
//
// Every kind is built from the same parts: NICs below leaves, leaves below spines, and, where one spine cannot reach
// all leaves, pods of leaves and spines below cores. One cable is one duplex link; parallel cables are links of their
// own.
#pragma once

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
};
const char* name_of(FabricKind kind);  ///< "none", "single-switch", "leaf-spine", "rail-optimised"

/// Where the NICs of a leaf-spine fabric go.
enum class NicOrder : std::uint8_t {
  kByNode,  ///< all NICs of a node on one leaf
  kDealt,   ///< NIC after NIC to leaf after leaf, round and round
};

struct SwitchSpec {
  std::string part;
  std::uint32_t ports = 0;  ///< at the rate of the links; 0: no limit (the ideal switch)
  bool reduces = false;     ///< adds up payloads on the way (SHARP)
};

struct FabricSpec {
  FabricKind kind = FabricKind::kNone;
  NicOrder nic_order = NicOrder::kByNode;
  SwitchSpec leaf, spine, core;
  LinkClass nic_link, leaf_link, core_link;  ///< NIC to leaf, leaf to spine, spine to core; rate of one cable
  std::uint32_t leaf_down = 0;               ///< ports of a leaf towards NICs; 0: what `oversubscription` leaves
  double oversubscription = 1;               ///< down / up of a leaf; 1: none
  std::uint32_t parallel = 0;                ///< cables between one leaf and one spine; 0: as few spines as will do
};

/// What a spec comes to for a number of nodes.
struct FabricPlan {
  FabricKind kind = FabricKind::kNone;
  std::uint32_t leaves = 0, spines = 0, cores = 0;
  std::uint32_t down = 0;      ///< NIC ports of a leaf
  std::uint32_t up = 0;        ///< spine ports of a leaf that carry cables
  std::uint32_t parallel = 0;  ///< cables per (leaf, spine of its pod)
  std::uint32_t pods = 1, leaves_per_pod = 0, spines_per_pod = 0;
  std::uint32_t cores_per_group = 0;  ///< cores that see spine j of every pod
  std::uint32_t core_parallel = 0;    ///< cables per (spine, core)
  double oversubscription = 1;        ///< NIC cables per uplink of the fullest leaf, as built
};

/// Sizes the fabric. Error kInvalid with the figures when the ports do not suffice.
Result<FabricPlan> plan_fabric(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_node);

/// Adds switches and cables for `nics` (one row per node, NICs in rail order; equally many in each row).
/// Leaves of a rail-optimised fabric are numbered unit by unit, in a unit rail by rail.
/// Names: "switch0", "leaf<i>", "spine<i>" (pod by pod), "core<i>".
Result<FabricPlan> build_fabric(const FabricSpec& spec, const Csr<DeviceId>& nics, TopologyBuilder& builder);

}  // namespace busbar
