#include <fmt/core.h>

#include <algorithm>

#include "busbar/topology/internal/fabric_kinds.h"

namespace busbar::topology {
namespace {

/// Fills in open sizes. Balanced: a = 2p = 2h, so a switch has p + (a - 1) + h = 4p - 1 ports.
DragonflySpec sized(const FabricSpec& spec, std::uint64_t all_nics) {
  DragonflySpec d = spec.dragonfly;
  std::uint32_t p = d.nics != 0 ? d.nics : d.routers != 0 ? ceil_div(d.routers, 2) : d.globals;
  if (p == 0 && spec.tier(0).switches.ports > 0) p = std::max<std::uint32_t>(1, (spec.tier(0).switches.ports + 1) / 4);
  if (p == 0) {  // no limit of ports: the smallest balanced p whose largest dragonfly a p (a h + 1) holds all NICs
    for (p = 1; std::uint64_t{2} * p * p * (std::uint64_t{2} * p * p + 1) < all_nics;) ++p;
  }
  if (d.nics == 0) d.nics = p;
  if (d.routers == 0) d.routers = 2 * p;
  if (d.globals == 0) d.globals = p;
  if (d.groups == 0) {
    d.groups = static_cast<std::uint32_t>(ceil_div(all_nics, std::uint64_t{d.routers} * d.nics));
  }
  return d;
}

/// Groups / 2 send to the larger rest: each of them has `parallel` cables to each group there.
double half_to_half(const FabricSpec& spec, const DragonflySpec& d, std::uint32_t parallel) {
  const double nics = double{1} * d.routers * d.nics * static_cast<double>(per_second(spec.nic_link.wire_rate));
  const double cables =
      double{1} * (d.groups - d.groups / 2) * parallel * static_cast<double>(per_second(spec.tier(1).up.wire_rate));
  return d.groups < 2 ? 1 : std::max(1.0, nics / cables);
}

}  // namespace

Result<FabricPlan> plan_dragonfly(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  const std::uint64_t all = std::uint64_t{nodes} * nics;
  const DragonflySpec d = sized(spec, all);
  const std::uint64_t in_group = std::uint64_t{d.routers} * d.nics, globals = std::uint64_t{d.routers} * d.globals;
  const std::uint64_t used = std::uint64_t{d.nics} + d.routers - 1 + (d.groups > 1 ? d.globals : 0);
  const std::string sizes = fmt::format("{} groups of {} switches with {} NICs and {} global cables each", d.groups,
                                        d.routers, d.nics, d.globals);
  const SwitchSpec& s = spec.tier(0).switches;
  const std::uint64_t taken =
      d.nics * part_of_port(s, spec.nic_link) + (d.routers - 1) * part_of_port(s, spec.tier(0).up);
  if (taken > ports(s) * kPort || (d.groups > 1 && d.globals > room_for(s, spec.tier(1).up, taken))) {
    return cannot(spec, nodes, nics, fmt::format("{} need {} ports, {} has fewer", sizes, used, describe(s)));
  }
  if (d.groups > globals + 1) {
    return cannot(spec, nodes, nics,
                  fmt::format("{}: {} cables leave a group, so there can be {} groups", sizes, globals, globals + 1));
  }
  if (all > in_group * d.groups) {
    return cannot(spec, nodes, nics, fmt::format("{} hold {} NICs, not {}", sizes, in_group * d.groups, all));
  }
  const std::uint64_t switches = std::uint64_t{d.groups} * d.routers;
  if (switches > kMostSwitches || switches * (d.routers + d.globals) / 2 > kMostCables) {
    return cannot(spec, nodes, nics, fmt::format("{} are more than {} cables", sizes, kMostCables));
  }
  FabricPlan plan;
  plan.kind = FabricKind::kDragonfly;
  plan.dragonfly = d;
  plan.tiers = {{d.groups * d.routers, d.groups, d.routers}};
  plan.down = d.nics;
  plan.global_parallel = d.groups > 1 ? static_cast<std::uint32_t>(globals / (d.groups - 1)) : 0;
  plan.oversubscription = half_to_half(spec, d, plan.global_parallel);
  return plan;
}

void cable_dragonfly(const FabricSpec& spec, const FabricPlan& plan, const std::vector<DeviceId>& leaves,
                     TopologyBuilder& builder) {
  const DragonflySpec& d = plan.dragonfly;
  for (std::uint32_t g = 0; g < d.groups; ++g) {
    for (std::uint32_t i = 0; i < d.routers; ++i) {
      for (std::uint32_t j = i + 1; j < d.routers; ++j) {
        builder.connect(leaves[g * d.routers + i], leaves[g * d.routers + j], spec.tier(0).up);
      }
    }
  }
  // Global port q of a group is on its switch q mod a; the ports of one round lead to the other groups in order.
  for (std::uint32_t c = 0; c < plan.global_parallel; ++c) {
    for (std::uint32_t a = 0; a < d.groups; ++a) {
      for (std::uint32_t b = a + 1; b < d.groups; ++b) {
        const std::uint32_t at_a = c * (d.groups - 1) + b - 1, at_b = c * (d.groups - 1) + a;
        builder.connect(leaves[a * d.routers + at_a % d.routers], leaves[b * d.routers + at_b % d.routers],
                        spec.tier(1).up);
      }
    }
  }
}

}  // namespace busbar::topology
