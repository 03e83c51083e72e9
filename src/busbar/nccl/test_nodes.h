// Small machines for the tests of this room.
#pragma once

#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::nccl {

struct TestNode {
  std::uint32_t gpus = 8;
  int compute_capability = 90;
  std::uint16_t nvlinks = 18;  ///< per GPU, into the one switch; 0: no switch
  std::uint32_t nic_gigabits = 400;
  std::uint32_t gpus_per_switch = 1;
  std::uint32_t nics_per_switch = 1;
  int pcie_generation = 5;
  std::string vendor = "GenuineIntel";
  int family = 6, model = 143;
  std::uint32_t ports_per_card = 1;
  bool nics_first = false;  ///< NICs come before GPUs, in reverse order: other numbers, the same machine
};

inline topology::LinkClass nccl_link(topology::LinkKind kind, double gigabytes_per_s, std::uint16_t lanes) {
  topology::LinkClass c;
  c.kind = kind;
  c.wire_rate = BytesPerSecond{static_cast<std::uint64_t>(gigabytes_per_s * 1e9)};
  c.lanes = lanes;
  return c;
}

/// Two sockets with half of the PCIe switches each; below each switch are its GPUs and NICs.
inline topology::NodeTemplate nccl_node(const TestNode& t) {
  topology::NodeTemplate n;
  n.name = "node";
  const auto add = [&](topology::DeviceKind kind, const std::string& name, int numa) {
    topology::TemplateDevice d;
    d.device_class.kind = kind;
    d.name = name;
    d.numa = static_cast<std::int16_t>(numa);
    if (kind == topology::DeviceKind::kGpu) d.device_class.compute_capability = t.compute_capability;
    if (kind == topology::DeviceKind::kCpu) d.device_class.processor = {"x86_64", t.vendor, t.family, t.model};
    n.devices.push_back(d);
    return static_cast<std::uint32_t>(n.devices.size()) - 1;
  };
  const std::uint32_t switches = t.gpus / t.gpus_per_switch;
  const auto numa_of = [&](std::uint32_t s) { return static_cast<int>(s * 2 / switches); };
  const double lane = t.pcie_generation == 5 ? 4 : t.pcie_generation == 4 ? 2 : 1;
  const topology::LinkClass pcie = nccl_link(topology::LinkKind::kPcie, 16 * lane, 16);
  const std::uint32_t cpu[2] = {add(topology::DeviceKind::kCpu, "cpu0", 0), add(topology::DeviceKind::kCpu, "cpu1", 1)};
  const std::uint32_t nvs = t.nvlinks > 0 ? add(topology::DeviceKind::kNvSwitch, "nvswitch0", -1) : 0;
  std::vector<std::uint32_t> bridge(switches);
  for (std::uint32_t s = 0; s < switches; ++s) {
    bridge[s] = add(topology::DeviceKind::kPcieSwitch, "pcie" + std::to_string(s), numa_of(s));
    n.links.push_back({bridge[s], cpu[numa_of(s)], pcie});
  }
  const std::uint32_t nics = switches * t.nics_per_switch;
  const auto add_nics = [&] {
    for (std::uint32_t i = 0; i < nics; ++i) {
      const std::uint32_t s = (t.nics_first ? nics - 1 - i : i) / t.nics_per_switch;
      n.links.push_back({add(topology::DeviceKind::kNic, "nic" + std::to_string(i), numa_of(s)), bridge[s], pcie});
      if (t.ports_per_card > 1) n.devices.back().card = static_cast<std::int16_t>(i / t.ports_per_card);
    }
  };
  if (t.nics_first) add_nics();
  for (std::uint32_t g = 0; g < t.gpus; ++g) {
    const std::uint32_t s = g / t.gpus_per_switch;
    const std::uint32_t gpu = add(topology::DeviceKind::kGpu, "gpu" + std::to_string(g), numa_of(s));
    n.links.push_back({gpu, bridge[s], pcie});
    if (t.nvlinks > 0)
      n.links.push_back({gpu, nvs, nccl_link(topology::LinkKind::kNvlink, 25.0 * t.nvlinks, t.nvlinks)});
  }
  if (!t.nics_first) add_nics();
  n.links.push_back({cpu[0], cpu[1], nccl_link(topology::LinkKind::kSocket, 96, 3)});
  return n;
}

/// Eight fully connected AMD GPUs on two sockets; `nics` NICs, on the PCIe switches of the GPUs in turn.
inline topology::NodeTemplate amd_node(std::uint32_t nics = 8, const std::string& target = "gfx942") {
  topology::NodeTemplate n;
  n.name = "node";
  const auto add = [&](topology::DeviceKind kind, const std::string& name, std::uint32_t numa) {
    topology::TemplateDevice d;
    d.device_class.kind = kind;
    d.name = name;
    d.numa = static_cast<std::int16_t>(numa);
    if (kind == topology::DeviceKind::kGpu) d.device_class.architecture = target;
    if (kind == topology::DeviceKind::kCpu) d.device_class.processor = {"x86_64", "AuthenticAMD", 25, 17};
    n.devices.push_back(d);
    return static_cast<std::uint32_t>(n.devices.size()) - 1;
  };
  constexpr std::uint32_t kGpus = 8;
  const topology::LinkClass pcie = nccl_link(topology::LinkKind::kPcie, 64, 16);
  const std::uint32_t cpu[2] = {add(topology::DeviceKind::kCpu, "cpu0", 0), add(topology::DeviceKind::kCpu, "cpu1", 1)};
  std::vector<std::uint32_t> gpu, bridge;
  for (std::uint32_t g = 0; g < kGpus; ++g) {
    gpu.push_back(add(topology::DeviceKind::kGpu, "gpu" + std::to_string(g), g / 4));
    bridge.push_back(add(topology::DeviceKind::kPcieSwitch, "pcie" + std::to_string(g), g / 4));
    n.links.push_back({gpu[g], bridge[g], pcie});
    n.links.push_back({bridge[g], cpu[g / 4], pcie});
    for (std::uint32_t p = 0; p < g; ++p)
      n.links.push_back({gpu[p], gpu[g], nccl_link(topology::LinkKind::kXgmi, 64, 1)});
  }
  for (std::uint32_t i = 0; i < nics; ++i) {
    const std::uint32_t at = i * kGpus / nics;
    n.links.push_back({add(topology::DeviceKind::kNic, "nic" + std::to_string(i), at / 4), bridge[at], pcie});
  }
  n.links.push_back({cpu[0], cpu[1], nccl_link(topology::LinkKind::kSocket, 96, 3)});
  return n;
}

/// `nodes` nodes, with all NICs on one switch.
inline topology::Topology nccl_machine(const topology::NodeTemplate& node, std::uint32_t nodes,
                                       std::uint32_t nic_gigabits) {
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const topology::BlockId block = b.add_block(t);
    for (std::uint32_t d = 0; d < node.devices.size(); ++d)
      if (node.devices[d].device_class.kind == topology::DeviceKind::kNic)
        b.connect(b.device(block, d), hub, nccl_link(topology::LinkKind::kInfiniband, nic_gigabits / 8.0, 4));
  }
  return std::move(b).seal();
}
inline topology::Topology nccl_machine(const TestNode& node, std::uint32_t nodes) {
  return nccl_machine(nccl_node(node), nodes, node.nic_gigabits);
}

}  // namespace busbar::nccl
