// Links, devices and fabrics for tests; they belong to no product.
#pragma once

#include <string>
#include <utility>

#include "busbar/topology/fabric.h"

namespace busbar::topology {

inline LinkClass test_link(LinkKind kind, std::uint64_t gigabytes_per_s, Duration latency = {}) {
  LinkClass c;
  c.kind = kind;
  c.wire_rate = BytesPerSecond{gigabytes_per_s * 1'000'000'000};
  c.latency = latency;
  return c;
}

inline TemplateDevice test_device(DeviceKind kind, std::string name) {
  TemplateDevice d;
  d.device_class.kind = kind;
  d.name = std::move(name);
  return d;
}

/// `n` NICs; with `gpus`, each has a GPU in front of it, in a slot that never limits.
inline NodeTemplate test_nics(std::uint32_t n, bool gpus = false) {
  NodeTemplate node;
  node.name = "nics";
  for (std::uint32_t i = 0; i < n; ++i) {
    if (gpus) {
      node.links.push_back({2 * i, 2 * i + 1, test_link(LinkKind::kPcie, 1000)});
      node.devices.push_back(test_device(DeviceKind::kGpu, "gpu" + std::to_string(i)));
    }
    node.devices.push_back(test_device(DeviceKind::kNic, "nic" + std::to_string(i)));
  }
  return node;
}

/// A fabric of switches with `ports` ports and cables of 50 GB/s at every tier.
inline FabricSpec test_fabric(FabricKind kind, std::uint32_t ports, double oversubscription = 1) {
  FabricSpec s;
  s.kind = kind;
  s.nic_link = test_link(LinkKind::kInfiniband, 50);
  for (TierSpec& tier : s.levels) {
    tier.switches.part = "a switch";
    tier.switches.ports = ports;
    tier.up = s.nic_link;
  }
  s.levels[0].oversubscription = oversubscription;
  return s;
}

struct TestCluster {
  FabricPlan plan;
  TopologyBuilder builder;
  Csr<DeviceId> nics;  ///< row: node
};

/// `nodes` nodes; the fabric joins all their NICs in the order of the template.
inline Result<TestCluster> test_cluster(const FabricSpec& spec, NodeTemplate node, std::uint32_t nodes) {
  TestCluster out;
  const std::uint32_t index = out.builder.add_template(node);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const BlockId block = out.builder.add_block(index);
    for (std::uint32_t i = 0; i < node.devices.size(); ++i)
      if (node.devices[i].device_class.kind == DeviceKind::kNic)
        out.nics.values.push_back(out.builder.device(block, i));
    out.nics.close_row();
  }
  BUSBAR_ASSIGN(out.plan, build_fabric(spec, out.nics, out.builder));
  return out;
}

}  // namespace busbar::topology
