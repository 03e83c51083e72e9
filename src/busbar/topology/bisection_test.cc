// The quick cut of large fabrics against the maximum flow.
#include "busbar/topology/bisection.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "busbar/topology/fabric.h"

namespace busbar {
namespace {

LinkClass wire(LinkKind kind, std::uint64_t GBps) {
  LinkClass c;
  c.kind = kind;
  c.wire_rate = BytesPerSecond{GBps * 1'000'000'000};
  return c;
}

/// Nodes of `nics` GPUs, each beside a NIC of 50 GB/s on a slot that never binds.
Topology fabric_of(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  NodeTemplate node;
  for (std::uint32_t i = 0; i < nics; ++i) {
    TemplateDevice gpu, nic;
    gpu.name = "gpu" + std::to_string(i);
    nic.name = "nic" + std::to_string(i);
    nic.device_class.kind = DeviceKind::kNic;
    node.devices.push_back(gpu);
    node.devices.push_back(nic);
    node.links.push_back({2 * i, 2 * i + 1, wire(LinkKind::kPcie, 1000)});
  }
  TopologyBuilder b;
  const auto index = b.add_template(node);
  Csr<DeviceId> rows;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const BlockId block = b.add_block(index);
    for (std::uint32_t i = 0; i < nics; ++i) rows.values.push_back(b.device(block, 2 * i + 1));
    rows.close_row();
  }
  RC_ASSERT(build_fabric(spec, rows, b).ok());
  return std::move(b).seal();
}

FabricSpec any_tree(std::uint32_t nics) {
  FabricSpec s;
  s.kind = *rc::gen::element(FabricKind::kLeafSpine, FabricKind::kRailOptimised, FabricKind::kFatTree);
  s.leaf = s.spine = s.core = {"a switch", *rc::gen::element(8u, 16u)};
  s.oversubscription = *rc::gen::element(1.0, 3.0);
  s.nic_link = s.leaf_link = s.core_link = wire(LinkKind::kInfiniband, 50);
  s.nic_order = nics > 4 ? NicOrder::kDealt : NicOrder::kByNode;
  return s;
}

RC_GTEST_PROP(BisectionByTiers, IsNeverBelowTheMaximumFlow, ()) {
  const auto nics = *rc::gen::element(1u, 2u, 4u);
  const Topology t = fabric_of(any_tree(nics), *rc::gen::inRange(2u, 24u), nics);
  RC_ASSERT(bisect_tiers(t).GBps >= bisect(t).GBps * (1 - 1e-9));
}

// Where the halves part between leaves, no switch has to choose a side, and the quick cut is the narrowest.
RC_GTEST_PROP(BisectionByTiers, IsTheMaximumFlowWhereLeavesAreFull, ()) {
  FabricSpec s = any_tree(1);
  s.kind = FabricKind::kLeafSpine;
  s.oversubscription = *rc::gen::element(1.0, 3.0);
  const auto down = static_cast<std::uint32_t>(s.leaf.ports * s.oversubscription / (1 + s.oversubscription));
  const Topology t = fabric_of(s, 2 * down * *rc::gen::inRange(1u, 4u), 1);
  RC_ASSERT(std::abs(bisect_tiers(t).GBps - bisect(t).GBps) <= bisect(t).GBps * 1e-9);
}

}  // namespace
}  // namespace busbar
