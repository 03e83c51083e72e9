#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/topology/fabric_kinds.h"

namespace busbar {
namespace {

/// NIC ports of a leaf: as stated, else the share that the over-subscription leaves.
std::uint64_t down_ports(const FabricSpec& spec, std::uint64_t all_nics) {
  if (spec.leaf_down > 0) return spec.leaf_down;
  if (spec.leaf.ports == 0) return all_nics;
  return static_cast<std::uint64_t>(spec.leaf.ports * spec.oversubscription / (1 + spec.oversubscription));
}

/// Leaves and the NICs on the fullest of them.
struct LeafLevel {
  std::uint64_t leaves = 0, fullest = 0;
};

LeafLevel leaf_level(const FabricSpec& spec, std::uint64_t nodes, std::uint64_t nics, std::uint64_t down) {
  if (spec.kind == FabricKind::kRailOptimised) {
    const std::uint64_t units = ceil_div(nodes, down);
    return {units * nics, std::min(nodes, down)};
  }
  if (spec.nic_order == NicOrder::kDealt) {
    const std::uint64_t leaves = ceil_div(nodes * nics, down);
    return {leaves, ceil_div(nodes * nics, leaves)};
  }
  const std::uint64_t nodes_per_leaf = down / nics;
  return {ceil_div(nodes, nodes_per_leaf), std::min(nodes, nodes_per_leaf) * nics};
}

/// The fewest spines that give `leaves` leaves `up` cables each, evenly. False when the ports do not suffice.
bool plan_two_tiers(const FabricSpec& spec, std::uint64_t leaves, std::uint64_t up, FabricPlan& plan) {
  const std::uint64_t spare = ports(spec.leaf) - plan.down;
  const std::uint64_t first = spec.spine.ports == 0 ? 1 : ceil_div(leaves * up, spec.spine.ports);
  for (std::uint64_t spines = std::max<std::uint64_t>(first, 1); spines <= up; ++spines) {
    const std::uint64_t parallel = ceil_div(up, spines);
    if (spec.parallel != 0 && parallel != spec.parallel) continue;
    if (leaves * parallel > ports(spec.spine) || spines * parallel > spare) continue;
    plan.spines = static_cast<std::uint32_t>(spines);
    plan.parallel = static_cast<std::uint32_t>(parallel);
    plan.up = static_cast<std::uint32_t>(spines * parallel);
    plan.spines_per_pod = plan.spines;
    plan.leaves_per_pod = static_cast<std::uint32_t>(leaves);
    return true;
  }
  return false;
}

/// Pods of leaves and spines, `parallel` (1) cables per pair, below cores; spine j of every pod sees the cores of group
/// j.
bool plan_three_tiers(const FabricSpec& spec, std::uint64_t leaves, std::uint64_t up, std::uint64_t unit,
                      FabricPlan& plan) {
  const std::uint64_t parallel = std::max<std::uint64_t>(spec.parallel, 1);
  const std::uint64_t spines = ceil_div(up, parallel);
  if (spines * parallel > ports(spec.leaf) - plan.down) return false;
  const double over = spec.spine_oversubscription;
  std::uint64_t most = spec.spine.ports == 0
                           ? UINT32_MAX
                           : static_cast<std::uint64_t>(spec.spine.ports * over / (1 + over) + 1e-9) / parallel;
  if (most >= unit) most -= most % unit;  // a pod holds whole units of a rail-optimised fabric
  if (most == 0) return false;
  const std::uint64_t pods = ceil_div(leaves, most);
  if (pods > ports(spec.core)) return false;
  std::uint64_t per_pod = ceil_div(leaves, pods);
  if (most >= unit) per_pod = std::min(most, ceil_div(per_pod, unit) * unit);
  const std::uint64_t downlinks = per_pod * parallel;
  const auto uplinks = static_cast<std::uint64_t>(std::ceil(static_cast<double>(downlinks) / over - 1e-9));
  for (std::uint64_t cores = std::max<std::uint64_t>(1, ceil_div(pods * uplinks, ports(spec.core))); cores <= uplinks;
       ++cores) {
    const std::uint64_t core_parallel = ceil_div(uplinks, cores);
    if (spec.core_parallel != 0 && core_parallel != spec.core_parallel) continue;
    if (pods * core_parallel > ports(spec.core) || cores * core_parallel > ports(spec.spine) - downlinks) continue;
    plan.parallel = static_cast<std::uint32_t>(parallel);
    plan.up = static_cast<std::uint32_t>(spines * parallel);
    plan.pods = static_cast<std::uint32_t>(ceil_div(leaves, per_pod));
    plan.leaves_per_pod = static_cast<std::uint32_t>(per_pod);
    plan.spines_per_pod = static_cast<std::uint32_t>(spines);
    plan.spines = plan.pods * plan.spines_per_pod;
    plan.cores_per_group = static_cast<std::uint32_t>(cores);
    plan.core_parallel = static_cast<std::uint32_t>(core_parallel);
    plan.cores = static_cast<std::uint32_t>(cores * spines);
    return true;
  }
  return false;
}

/// What is wrong with the down ports of a leaf; empty when nothing is.
std::string leaf_fault(const FabricSpec& spec, std::uint64_t down, std::uint64_t nics) {
  if (down == 0 || down > ports(spec.leaf)) {
    return fmt::format("a leaf would have {} ports for NICs, {} has too few", down, describe(spec.leaf));
  }
  const bool whole_nodes = spec.kind != FabricKind::kRailOptimised && spec.nic_order == NicOrder::kByNode;
  if (whole_nodes && nics > down) {
    return fmt::format("a node has {} NICs and a leaf {} ports for them; say 'nic_order: dealt'", nics, down);
  }
  return {};
}

}  // namespace

Result<FabricPlan> plan_tree(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  const std::uint64_t all = std::uint64_t{nodes} * nics;
  const std::uint64_t down = down_ports(spec, all);
  if (std::string fault = leaf_fault(spec, down, nics); !fault.empty()) return cannot(spec, nodes, nics, fault);

  FabricPlan plan;
  plan.kind = spec.kind;
  plan.down = static_cast<std::uint32_t>(down);
  const LeafLevel level = leaf_level(spec, nodes, nics, down);
  plan.leaves = plan.leaves_per_pod = static_cast<std::uint32_t>(level.leaves);
  if (level.leaves == 1) return plan;
  const auto up =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(level.fullest) / spec.oversubscription - 1e-9));
  const std::uint64_t unit = spec.kind == FabricKind::kRailOptimised ? nics : 1;
  const std::uint32_t tiers = spec.tiers == 0 && spec.kind == FabricKind::kFatTree ? 3 : spec.tiers;
  const bool joined = (tiers != 3 && plan_two_tiers(spec, level.leaves, up, plan)) ||
                      (tiers != 2 && plan_three_tiers(spec, level.leaves, up, unit, plan));
  if (!joined) {
    return cannot(
        spec, nodes, nics,
        fmt::format("{} leaves {} with {} ports down and {} up each, above them spines {} and cores {}, do not "
                    "join; use switches with more ports, a higher oversubscription or fewer parallel cables",
                    level.leaves, describe(spec.leaf), down, up, describe(spec.spine), describe(spec.core)));
  }
  plan.oversubscription = static_cast<double>(level.fullest) / plan.up;
  return plan;
}

}  // namespace busbar
