#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "busbar/topology/internal/fabric_kinds.h"

namespace busbar::topology {

std::string describe(const SwitchSpec& s) {
  return fmt::format("{} ({} ports)", s.part.empty() ? "the switch" : s.part, s.ports);
}

Error cannot(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics, std::string why) {
  return invalid(fmt::format("a {} fabric for {} nodes of {} NICs cannot be built: {}", name_of(spec.kind), nodes, nics,
                             std::move(why)));
}

std::uint64_t part_of_port(const SwitchSpec& s, const LinkClass& cable) {
  const std::uint64_t port = per_second(s.port_rate), rate = per_second(cable.wire_rate);
  if (port == 0 || rate == 0) return kPort;
  return kPort / std::clamp<std::uint64_t>(port / rate, 1, s.splits);
}

std::uint64_t room_for(const SwitchSpec& s, const LinkClass& cable, std::uint64_t taken) {
  const std::uint64_t all = ports(s) * kPort;
  return taken > all ? 0 : (all - taken) / part_of_port(s, cable);
}

namespace {

/// Names the cable that is too fast for its port; empty if none is.
std::string rate_fault(const FabricSpec& spec) {
  const auto fault = [](const SwitchSpec& s, const LinkClass& c) -> std::string {
    constexpr double kGigabit = 1e9 / 8;
    const double port = static_cast<double>(per_second(s.port_rate)) / kGigabit,
                 cable = static_cast<double>(per_second(c.wire_rate)) / kGigabit;
    if (port == 0 || cable <= port * (1 + 1e-9)) return {};
    return fmt::format("a cable of {:g} Gb/s does not go into the ports of {}, which have {:g} Gb/s", cable,
                       describe(s), port);
  };
  std::string found = fault(spec.tier(0).switches, spec.nic_link);
  for (std::size_t k = 0; k + 1 < spec.levels.size() && found.empty(); ++k) {
    found = fault(spec.tier(k).switches, spec.tier(k).up);
    if (found.empty()) found = fault(spec.tier(k + 1).switches, spec.tier(k).up);
  }
  return found;
}

Result<FabricPlan> plan_single(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  const std::uint64_t all = std::uint64_t{nodes} * nics;
  const SwitchSpec& only = spec.tier(0).switches;
  if (all > room_for(only, spec.nic_link)) {
    return cannot(
        spec, nodes, nics,
        fmt::format("{} NICs do not fit {}; use leaf-spine, or a switch without 'ports'", all, describe(only)));
  }
  FabricPlan plan;
  plan.kind = spec.kind;
  plan.tiers = {{1}};
  plan.down = static_cast<std::uint32_t>(all);
  return plan;
}

/// Plans one plane, without the options for several.
Result<FabricPlan> plan_plane(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  switch (spec.kind) {
    case FabricKind::kSingleSwitch:
      return plan_single(spec, nodes, nics);
    case FabricKind::kDragonfly:
      return plan_dragonfly(spec, nodes, nics);
    case FabricKind::kTorus:
      return plan_torus(spec, nodes, nics);
    default:
      return plan_tree(spec, nodes, nics);
  }
}

/// Plans `planes` planes with ports split in `split`; a node has `nics` NICs on each.
Result<FabricPlan> plan_planes(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics, std::uint32_t planes,
                               std::uint32_t split) {
  BUSBAR_ASSIGN(FabricPlan plan, plan_plane(split_ports(spec, split), nodes, nics));
  plan.planes = planes;
  plan.split = split;
  plan.plane_order = spec.plane_order;
  for (TierPlan& tier : plan.tiers) tier.switches *= planes;
  return plan;
}

/// A rail is a fabric with one NIC per node: one switch if it has enough ports, otherwise a tree.
Result<FabricPlan> plan_rails(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  BUSBAR_ASSIGN(FabricPlan plan, plan_planes(one_rail(spec, nodes), nodes, 1, nics, spec.split));
  plan.kind = FabricKind::kRailOnly;
  plan.plane_order = PlaneOrder::kByNic;
  return plan;
}

}  // namespace

FabricSpec split_ports(FabricSpec spec, std::uint32_t split) {
  const auto part = [split](BytesPerSecond& rate) { rate = BytesPerSecond{per_second(rate) / split}; };
  part(spec.nic_link.wire_rate);
  for (TierSpec& tier : spec.levels) {
    part(tier.up.wire_rate);
    part(tier.switches.port_rate);
    tier.switches.ports *= split;
    tier.switches.splits = std::max(1u, tier.switches.splits / split);
  }
  spec.split = 1;
  return spec;
}

FabricSpec one_rail(FabricSpec spec, std::uint32_t nodes) {
  const bool fits = nodes <= room_for(spec.tier(0).switches, spec.nic_link) * spec.split;
  spec.kind = fits && spec.leaf_down == 0 ? FabricKind::kSingleSwitch : FabricKind::kLeafSpine;
  spec.nic_order = NicOrder::kByNode;
  return spec;
}

const char* name_of(FabricKind kind) {
  constexpr const char* kNames[] = {"none",     "single-switch", "leaf-spine", "rail-optimised",
                                    "fat-tree", "rail-only",     "dragonfly",  "torus"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(FabricKind::kTorus) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(NicOrder order) { return order == NicOrder::kDealt ? "dealt" : "by-node"; }

Result<FabricPlan> plan_fabric(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  if (spec.kind == FabricKind::kNone || nodes == 0) return FabricPlan{};
  if (nics == 0) return cannot(spec, nodes, nics, "the node has no NIC to put a cable in; add one, or 'fabric: none'");
  const SwitchSpec& leaf = spec.tier(0).switches;
  if (spec.split > 1 && spec.split > leaf.splits) {
    return cannot(spec, nodes, nics, fmt::format("a port of {} cannot be split in {}", describe(leaf), spec.split));
  }
  if (std::string fault = rate_fault(spec); !fault.empty()) return cannot(spec, nodes, nics, std::move(fault));
  if (spec.kind == FabricKind::kRailOnly) return plan_rails(spec, nodes, nics);
  if (spec.planes == 0) {
    auto one = plan_planes(spec, nodes, nics, 1, spec.split);
    if (one.ok() || spec.split > 1 || leaf.splits < 2) return one;
    auto several = plan_planes(spec, nodes, nics, leaf.splits, leaf.splits);
    return several.ok() ? std::move(several) : std::move(one);
  }
  if (spec.plane_order == PlaneOrder::kByPort) return plan_planes(spec, nodes, nics, spec.planes, spec.split);
  if (nics % spec.planes != 0) {
    return cannot(spec, nodes, nics, fmt::format("{} NICs cannot be dealt evenly to {} planes", nics, spec.planes));
  }
  return plan_planes(spec, nodes, nics / spec.planes, spec.planes, spec.split);
}

}  // namespace busbar::topology
