// Random clusters for property tests, on every kind of fabric.
#pragma once

#include "busbar/lowering/random_machine.h"

namespace busbar::lowering {

/// Nodes of `random_server` on any fabric, some cables slower, some gone.
inline topology::TopologyBuilder random_cluster(RandomStream& random, const topology::NodeTemplate& node,
                                                std::uint32_t nodes) {
  const topology::FabricKind kinds[] = {topology::FabricKind::kLeafSpine, topology::FabricKind::kRailOptimised,
                                        topology::FabricKind::kFatTree,   topology::FabricKind::kRailOnly,
                                        topology::FabricKind::kDragonfly, topology::FabricKind::kTorus};
  for (;;) {
    topology::FabricSpec spec =
        topology::test_fabric(kinds[random.below(6)], random.below(2) == 0 ? 8 : 16, 1 + random.below(2));
    spec.nic_link.latency = Duration::ns(static_cast<std::int64_t>(random.below(900)));
    for (topology::TierSpec& tier : spec.levels)
      tier.up.latency = Duration::ns(static_cast<std::int64_t>(random.below(900)));
    const bool planes =
        spec.kind == topology::FabricKind::kLeafSpine || spec.kind == topology::FabricKind::kRailOptimised;
    if (planes && random.below(2) == 0) spec.planes = 2;
    Result<topology::TestCluster> made = topology::test_cluster(spec, node, nodes);
    if (!made.ok()) continue;
    topology::TopologyBuilder& b = made->builder;
    for (std::uint64_t d = random.below(6); d > 0; --d)
      b.degrade(static_cast<topology::LinkId>(random.below(b.peek().link_count())), 0.05 + 0.9 * random.uniform());
    const auto victim = static_cast<topology::LinkId>(random.below(b.peek().link_count()));
    if (random.below(3) == 0 && topology::is_fabric(b.peek().link_class(victim).kind)) b.fail(victim);
    return std::move(b);
  }
}

}  // namespace busbar::lowering
