#include <fmt/core.h>

#include "busbar/topology/fabric_kinds.h"

namespace busbar {

std::string describe(const SwitchSpec& s) {
  return fmt::format("{} ({} ports)", s.part.empty() ? "the switch" : s.part, s.ports);
}

Error cannot(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics, std::string why) {
  return invalid(fmt::format("a {} fabric for {} nodes of {} NICs cannot be built: {}", name_of(spec.kind), nodes, nics,
                             std::move(why)));
}

namespace {

Result<FabricPlan> plan_single(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  const std::uint64_t all = std::uint64_t{nodes} * nics;
  if (all > ports(spec.leaf)) {
    return cannot(
        spec, nodes, nics,
        fmt::format("{} NICs do not fit {}; use leaf-spine, or a switch without 'ports'", all, describe(spec.leaf)));
  }
  FabricPlan plan;
  plan.kind = spec.kind;
  plan.leaves = plan.leaves_per_pod = 1;
  plan.down = static_cast<std::uint32_t>(all);
  return plan;
}

/// One plane: all of `spec` but what concerns several.
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

/// `planes` planes with ports split in `split`, of which a node has `nics` NICs on each.
Result<FabricPlan> plan_planes(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics, std::uint32_t planes,
                               std::uint32_t split) {
  BUSBAR_ASSIGN(FabricPlan plan, plan_plane(split_ports(spec, split), nodes, nics));
  plan.planes = planes;
  plan.split = split;
  plan.plane_order = spec.plane_order;
  plan.leaves *= planes;
  plan.spines *= planes;
  plan.cores *= planes;
  return plan;
}

/// A rail is a fabric of one NIC per node: one switch where it has the ports, else a tree of its own.
Result<FabricPlan> plan_rails(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  BUSBAR_ASSIGN(FabricPlan plan, plan_planes(one_rail(spec, nodes), nodes, 1, nics, spec.split));
  plan.kind = FabricKind::kRailOnly;
  plan.plane_order = PlaneOrder::kByNic;
  return plan;
}

}  // namespace

FabricSpec split_ports(FabricSpec spec, std::uint32_t split) {
  for (SwitchSpec* s : {&spec.leaf, &spec.spine, &spec.core}) s->ports *= split;
  for (LinkClass* c : {&spec.nic_link, &spec.leaf_link, &spec.core_link}) {
    c->wire_rate = BytesPerSecond{per_second(c->wire_rate) / split};
  }
  spec.split = 1;
  return spec;
}

FabricSpec one_rail(FabricSpec spec, std::uint32_t nodes) {
  const bool fits = spec.leaf.ports == 0 || nodes <= spec.leaf.ports * spec.split;
  spec.kind = fits && spec.leaf_down == 0 ? FabricKind::kSingleSwitch : FabricKind::kLeafSpine;
  spec.nic_order = NicOrder::kByNode;
  return spec;
}

const char* name_of(FabricKind kind) {
  switch (kind) {
    case FabricKind::kNone:
      return "none";
    case FabricKind::kSingleSwitch:
      return "single-switch";
    case FabricKind::kLeafSpine:
      return "leaf-spine";
    case FabricKind::kRailOptimised:
      return "rail-optimised";
    case FabricKind::kFatTree:
      return "fat-tree";
    case FabricKind::kRailOnly:
      return "rail-only";
    case FabricKind::kDragonfly:
      return "dragonfly";
    case FabricKind::kTorus:
      return "torus";
  }
  return "?";
}

Result<FabricPlan> plan_fabric(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  if (spec.kind == FabricKind::kNone || nodes == 0) return FabricPlan{};
  if (nics == 0) return cannot(spec, nodes, nics, "the node has no NIC to put a cable in; add one, or 'fabric: none'");
  if (spec.split > 1 && spec.split > spec.leaf.splits) {
    return cannot(spec, nodes, nics,
                  fmt::format("a port of {} cannot be split in {}", describe(spec.leaf), spec.split));
  }
  if (spec.kind == FabricKind::kRailOnly) return plan_rails(spec, nodes, nics);
  if (spec.planes == 0) {
    auto one = plan_planes(spec, nodes, nics, 1, spec.split);
    if (one.ok() || spec.split > 1 || spec.leaf.splits < 2) return one;
    auto several = plan_planes(spec, nodes, nics, spec.leaf.splits, spec.leaf.splits);
    return several.ok() ? std::move(several) : std::move(one);
  }
  if (spec.plane_order == PlaneOrder::kByPort) return plan_planes(spec, nodes, nics, spec.planes, spec.split);
  if (nics % spec.planes != 0) {
    return cannot(spec, nodes, nics, fmt::format("{} NICs cannot be dealt evenly to {} planes", nics, spec.planes));
  }
  return plan_planes(spec, nodes, nics / spec.planes, spec.planes, spec.split);
}

}  // namespace busbar
