#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/topology/internal/fabric_kinds.h"

namespace busbar::topology {
namespace {

double rate(const LinkClass& c) { return static_cast<double>(per_second(c.wire_rate)); }

/// Uplinks that carry the load of `down` cables, at that over-subscription.
std::uint64_t uplinks(std::uint64_t down, const LinkClass& low, const TierSpec& tier) {
  const double up = std::ceil(static_cast<double>(down) * rate(low) / rate(tier.up) / tier.oversubscription - 1e-9);
  return static_cast<std::uint64_t>(std::min(up, static_cast<double>(kMostCables) + 1));
}

/// Downlinks that leave enough ports for their uplinks.
std::uint64_t downlinks(const LinkClass& low, const TierSpec& tier) {
  if (tier.switches.ports == 0) return UINT32_MAX;
  const auto down = static_cast<double>(part_of_port(tier.switches, low));
  const auto up = static_cast<double>(part_of_port(tier.switches, tier.up));
  const double each = down + up * rate(low) / rate(tier.up) / tier.oversubscription;
  return static_cast<std::uint64_t>(static_cast<double>(ports(tier.switches) * kPort) / each + 1e-9);
}

/// NIC ports of a leaf: as stated, otherwise the share that the over-subscription gives.
std::uint64_t down_ports(const FabricSpec& spec, std::uint64_t all_nics) {
  if (spec.leaf_down > 0) return spec.leaf_down;
  if (spec.tier(0).switches.ports == 0) return all_nics;
  return downlinks(spec.nic_link, spec.tier(0));
}

/// The leaves, and the NICs on the fullest one.
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

/// The pods below the tier being planned. Each of their switches needs `up` cables and uses `taken` parts of its ports.
struct Below {
  std::uint64_t pods, per_pod, up, taken;
};

/// Adds a tier; false if it would be too large.
bool add_tier(const Below& b, std::uint64_t below, std::uint64_t group, std::uint64_t parallel, FabricPlan& plan) {
  const std::uint64_t pods = ceil_div(b.pods, below), per_pod = b.per_pod * group;
  if (pods * per_pod > kMostSwitches || b.pods * b.per_pod * group * parallel > kMostCables) return false;
  const auto n = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  plan.tiers.push_back({n(pods * per_pod), n(pods), n(per_pod), n(below), n(group), n(parallel)});
  return true;
}

/// The top tier: the fewest switches that give `up` cables to each switch below, evenly. False if ports are missing.
bool add_top(const FabricSpec& spec, std::size_t k, const Below& b, FabricPlan& plan) {
  const TierSpec &low = spec.tier(k - 1), &top = spec.tier(k);
  const std::uint64_t spare = room_for(low.switches, low.up, b.taken), room = room_for(top.switches, low.up);
  if (room == 0 || b.up > std::min(spare, kMostCables)) return false;
  for (std::uint64_t group = std::max<std::uint64_t>(1, ceil_div(b.pods * b.up, room)); group <= b.up; ++group) {
    const std::uint64_t parallel = ceil_div(b.up, group);
    if (low.parallel != 0 && parallel != low.parallel) continue;
    if (b.pods * parallel > room || group * parallel > spare) continue;
    return add_tier(b, b.pods, group, parallel, plan);
  }
  return false;
}

/// A middle tier: its pods hold as many pods below as leave ports for the uplinks, all of equal size. `unit`: pods hold
/// whole units of that many pods. Sets `b` for the next tier.
bool add_middle(const FabricSpec& spec, std::size_t k, std::uint64_t unit, Below& b, FabricPlan& plan) {
  const TierSpec &low = spec.tier(k - 1), &tier = spec.tier(k);
  const std::uint64_t parallel = std::max<std::uint64_t>(low.parallel, 1), group = ceil_div(b.up, parallel);
  if (group * parallel > room_for(low.switches, low.up, b.taken)) return false;
  std::uint64_t most = downlinks(low.up, tier) / parallel;
  if (most >= unit) most -= most % unit;
  if (most == 0) return false;
  std::uint64_t below = ceil_div(b.pods, ceil_div(b.pods, most));
  if (most >= unit) below = std::min(most, ceil_div(below, unit) * unit);
  if (!add_tier(b, below, group, parallel, plan)) return false;
  const std::uint64_t down = below * parallel;
  b = {plan.tiers.back().pods, plan.tiers.back().per_pod, uplinks(down, low.up, tier),
       down * part_of_port(tier.switches, low.up)};
  return true;
}

/// Adds the tiers above the leaves; `plan` holds only the leaves.
bool join_leaves(const FabricSpec& spec, std::uint32_t tiers, std::uint64_t up, std::uint64_t unit, FabricPlan& plan) {
  plan.tiers.resize(1);
  Below b{plan.tiers[0].pods, 1, up, plan.down * part_of_port(spec.tier(0).switches, spec.nic_link)};
  for (std::uint32_t k = 1; k + 1 < tiers; ++k)
    if (!add_middle(spec, k, k == 1 ? unit : 1, b, plan)) return false;
  return add_top(spec, tiers - 1, b, plan);
}

/// The error in the down ports of a leaf; empty if there is none.
std::string leaf_fault(const FabricSpec& spec, std::uint64_t down, std::uint64_t nics) {
  const SwitchSpec& leaf = spec.tier(0).switches;
  if (down == 0 || down > room_for(leaf, spec.nic_link)) {
    return fmt::format("a leaf would have {} ports for NICs, {} has too few", down, describe(leaf));
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
  const auto leaves = static_cast<std::uint32_t>(level.leaves);
  plan.tiers = {{leaves, leaves}};
  if (leaves == 1) return plan;
  const std::uint64_t up = uplinks(level.fullest, spec.nic_link, spec.tier(0));
  const std::uint64_t unit = spec.kind == FabricKind::kRailOptimised ? nics : 1;
  const std::uint32_t least = spec.tiers != 0 ? spec.tiers : spec.kind == FabricKind::kFatTree ? 3 : 2;
  const std::uint32_t most = spec.tiers != 0 ? spec.tiers : 3;
  bool joined = false;
  for (std::uint32_t tiers = least; tiers <= most && !joined; ++tiers)
    joined = join_leaves(spec, tiers, up, unit, plan);
  if (!joined) {
    return cannot(spec, nodes, nics,
                  fmt::format("{} leaves {} with {} ports down and {} up each, above them spines {} and cores {}, do "
                              "not join in {} tiers; use switches with more ports, a higher oversubscription, fewer "
                              "parallel cables or more 'tiers'",
                              leaves, describe(spec.tier(0).switches), down, up, describe(spec.tier(1).switches),
                              describe(spec.tier(2).switches), most));
  }
  plan.oversubscription = static_cast<double>(level.fullest) * rate(spec.nic_link) /
                          (plan.tiers[1].group * plan.tiers[1].parallel * rate(spec.tier(0).up));
  return plan;
}

}  // namespace busbar::topology
