#include "busbar/topology/fabric.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "busbar/topology/internal/fabric_kinds.h"

namespace busbar::topology {
namespace {

/// "spine3"; above cores "tier4_3".
std::string switch_name(DeviceKind kind, std::size_t tier, std::uint32_t number) {
  constexpr std::size_t kNamed = 3;  // leaf, spine, core
  return tier < kNamed ? fmt::format("{}{}", name_of(kind), number) : fmt::format("tier{}_{}", tier + 1, number);
}

/// The switches of `tier` in plane `plane`.
std::vector<DeviceId> add_switches(TopologyBuilder& builder, const FabricSpec& fabric, const FabricPlan& plan,
                                   std::size_t tier, std::uint32_t plane) {
  constexpr std::array kKinds{DeviceKind::kLeaf, DeviceKind::kSpine, DeviceKind::kCore};
  const SwitchSpec& spec = fabric.tier(tier).switches;
  const bool single = plan.kind == FabricKind::kSingleSwitch;
  DeviceClass device_class;
  device_class.kind = single ? DeviceKind::kSwitch : kKinds[std::min(tier, kKinds.size() - 1)];
  device_class.part = spec.part;
  device_class.reduces = spec.reduces;
  device_class.reduce_trees = spec.reduce_trees;
  device_class.reduce_message = spec.reduce_message;
  device_class.reduce_rate = spec.reduce_rate;
  std::vector<DeviceId> out(plan.tiers[tier].switches);
  const auto count = static_cast<std::uint32_t>(out.size());
  for (std::uint32_t i = 0; i < count; ++i)
    out[i] = builder.add_switch(device_class, switch_name(device_class.kind, tier, plane * count + i));
  return out;
}

/// The leaf of NIC `nic` of node `node`.
std::uint32_t leaf_of(const FabricSpec& spec, const FabricPlan& plan, std::uint32_t node, std::uint32_t nic,
                      std::uint32_t nics) {
  const std::uint32_t leaves = plan.leaves();
  if (leaves == 1) return 0;
  if (plan.kind == FabricKind::kDragonfly || plan.kind == FabricKind::kTorus) {
    const std::uint64_t number = std::uint64_t{node} * nics + nic;
    return static_cast<std::uint32_t>(spec.nic_order == NicOrder::kDealt ? number % leaves : number / plan.down);
  }
  if (spec.kind == FabricKind::kRailOptimised) return node / plan.down * nics + nic;
  if (spec.nic_order == NicOrder::kDealt) {
    return static_cast<std::uint32_t>((std::uint64_t{node} * nics + nic) % leaves);
  }
  return node / (plan.down / nics);
}

/// Cables between tier k, with switches `upper`, and the tier below, with switches `lower`.
void cable_tier(const FabricSpec& spec, const FabricPlan& plan, std::size_t k, const std::vector<DeviceId>& lower,
                const std::vector<DeviceId>& upper, TopologyBuilder& builder) {
  const TierPlan &below = plan.tiers[k - 1], &tier = plan.tiers[k];
  for (std::uint32_t s = 0; s < lower.size(); ++s) {
    const std::uint32_t pod = s / below.per_pod / tier.below, place = s % below.per_pod;
    const std::uint32_t first = pod * tier.per_pod + place * tier.group;
    for (std::uint32_t u = first; u < first + tier.group; ++u)
      for (std::uint32_t c = 0; c < tier.parallel; ++c) builder.connect(lower[s], upper[u], spec.tier(k - 1).up);
  }
}

/// Builds plane `number` with the NICs of each node that `places` lists.
void build_plane(const FabricSpec& spec, FabricPlan plan, const Csr<DeviceId>& nics,
                 const std::vector<std::uint32_t>& places, std::uint32_t number, TopologyBuilder& builder) {
  std::vector<std::vector<DeviceId>> switches;
  for (std::size_t k = 0; k < plan.tiers.size(); ++k) {
    plan.tiers[k].switches /= plan.planes;
    switches.push_back(add_switches(builder, spec, plan, k, number));
  }
  const auto per_node = static_cast<std::uint32_t>(places.size());
  for (std::uint32_t n = 0; n < nics.rows(); ++n) {
    for (std::uint32_t i = 0; i < per_node; ++i) {
      builder.connect(nics.row(n)[places[i]], switches[0][leaf_of(spec, plan, n, i, per_node)], spec.nic_link);
    }
  }
  if (plan.kind == FabricKind::kDragonfly) return cable_dragonfly(spec, plan, switches[0], builder);
  if (plan.kind == FabricKind::kTorus) return cable_torus(spec, switches[0], builder);
  for (std::size_t k = 1; k < switches.size(); ++k) cable_tier(spec, plan, k, switches[k - 1], switches[k], builder);
}

}  // namespace

Result<FabricPlan> build_fabric(const FabricSpec& spec, const Csr<DeviceId>& nics, TopologyBuilder& builder) {
  const std::uint32_t nodes = nics.rows();
  const auto per_node = nodes == 0 ? 0 : static_cast<std::uint32_t>(nics.row(0).size());
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (nics.row(n).size() == per_node) continue;
    return invalid(fmt::format("node0 has {} NICs and node{} has {}; a fabric needs the same number", per_node, n,
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

}  // namespace busbar::topology
