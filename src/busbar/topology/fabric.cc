#include "busbar/topology/fabric.h"

#include <fmt/core.h>

#include <vector>

#include "busbar/topology/fabric_kinds.h"

namespace busbar {
namespace {

std::vector<DeviceId> add_switches(TopologyBuilder& builder, DeviceKind kind, const SwitchSpec& spec,
                                   std::uint32_t count, std::uint32_t plane) {
  DeviceClass device_class;
  device_class.kind = kind;
  device_class.part = spec.part;
  device_class.reduces = spec.reduces;
  device_class.reduce_trees = spec.reduce_trees;
  device_class.reduce_message = spec.reduce_message;
  device_class.reduce_rate = spec.reduce_rate;
  std::vector<DeviceId> out(count);
  for (std::uint32_t i = 0; i < count; ++i)
    out[i] = builder.add_switch(device_class, fmt::format("{}{}", name_of(kind), plane * count + i));
  return out;
}

/// The leaf of NIC `nic` of node `node`.
std::uint32_t leaf_of(const FabricSpec& spec, const FabricPlan& plan, std::uint32_t node, std::uint32_t nic,
                      std::uint32_t nics) {
  if (plan.leaves == 1) return 0;
  if (plan.kind == FabricKind::kDragonfly || plan.kind == FabricKind::kTorus) {
    const std::uint64_t number = std::uint64_t{node} * nics + nic;
    return static_cast<std::uint32_t>(spec.nic_order == NicOrder::kDealt ? number % plan.leaves : number / plan.down);
  }
  if (spec.kind == FabricKind::kRailOptimised) return node / plan.down * nics + nic;
  if (spec.nic_order == NicOrder::kDealt) {
    return static_cast<std::uint32_t>((std::uint64_t{node} * nics + nic) % plan.leaves);
  }
  return node / (plan.down / nics);
}

void cable_leaves(const FabricSpec& spec, const FabricPlan& plan, const std::vector<DeviceId>& leaves,
                  const std::vector<DeviceId>& spines, TopologyBuilder& builder) {
  for (std::uint32_t l = 0; l < plan.leaves; ++l) {
    const std::uint32_t first = l / plan.leaves_per_pod * plan.spines_per_pod;
    for (std::uint32_t s = 0; s < plan.spines_per_pod; ++s) {
      for (std::uint32_t c = 0; c < plan.parallel; ++c) builder.connect(leaves[l], spines[first + s], spec.leaf_link);
    }
  }
}

void cable_spines(const FabricSpec& spec, const FabricPlan& plan, const std::vector<DeviceId>& spines,
                  const std::vector<DeviceId>& cores, TopologyBuilder& builder) {
  for (std::uint32_t s = 0; s < plan.spines; ++s) {
    const std::uint32_t first = s % plan.spines_per_pod * plan.cores_per_group;
    for (std::uint32_t k = 0; k < plan.cores_per_group; ++k) {
      for (std::uint32_t c = 0; c < plan.core_parallel; ++c)
        builder.connect(spines[s], cores[first + k], spec.core_link);
    }
  }
}

/// Plane `number`, with the NICs of each node that `places` lists.
void build_plane(const FabricSpec& spec, FabricPlan plan, const Csr<DeviceId>& nics,
                 const std::vector<std::uint32_t>& places, std::uint32_t number, TopologyBuilder& builder) {
  plan.leaves /= plan.planes;
  plan.spines /= plan.planes;
  plan.cores /= plan.planes;
  const bool single = plan.kind == FabricKind::kSingleSwitch;
  const auto leaves =
      add_switches(builder, single ? DeviceKind::kSwitch : DeviceKind::kLeaf, spec.leaf, plan.leaves, number);
  const auto spines = add_switches(builder, DeviceKind::kSpine, spec.spine, plan.spines, number);
  const auto cores = add_switches(builder, DeviceKind::kCore, spec.core, plan.cores, number);
  const auto per_node = static_cast<std::uint32_t>(places.size());
  for (std::uint32_t n = 0; n < nics.rows(); ++n) {
    for (std::uint32_t i = 0; i < per_node; ++i) {
      builder.connect(nics.row(n)[places[i]], leaves[leaf_of(spec, plan, n, i, per_node)], spec.nic_link);
    }
  }
  if (plan.kind == FabricKind::kDragonfly) return cable_dragonfly(spec, plan, leaves, builder);
  if (plan.kind == FabricKind::kTorus) return cable_torus(spec, leaves, builder);
  cable_leaves(spec, plan, leaves, spines, builder);
  cable_spines(spec, plan, spines, cores, builder);
}

}  // namespace

Result<FabricPlan> build_fabric(const FabricSpec& spec, const Csr<DeviceId>& nics, TopologyBuilder& builder) {
  const std::uint32_t nodes = nics.rows();
  const auto per_node = nodes == 0 ? 0 : static_cast<std::uint32_t>(nics.row(0).size());
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (nics.row(n).size() == per_node) continue;
    return invalid(fmt::format("node0 has {} NICs and node{} has {}; a fabric wants equally many", per_node, n,
                               nics.row(n).size()));
  }
  BUSBAR_ASSIGN(const FabricPlan plan, plan_fabric(spec, nodes, per_node));
  if (plan.kind == FabricKind::kNone) return plan;
  FabricSpec plane = split_ports(spec, plan.split);
  if (spec.kind == FabricKind::kRailOnly) plane = split_ports(one_rail(spec, nodes), plan.split);
  const bool by_nic = plan.plane_order == PlaneOrder::kByNic;
  for (std::uint32_t p = 0; p < plan.planes; ++p) {
    std::vector<std::uint32_t> own;
    for (std::uint32_t i = by_nic ? p : 0; i < per_node; i += by_nic ? plan.planes : 1) own.push_back(i);
    build_plane(plane, plan, nics, own, p, builder);
  }
  return plan;
}

}  // namespace busbar
