// Small odd machines for property tests: any mix of NVLink, PCIe and fabrics, some of it damaged.
#pragma once

#include <algorithm>

#include "busbar/base/random.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {

/// A server of 2 to 6 GPUs behind one or two PCIe switches and CPUs, with 1 to `gpus` NICs, and NVLink over a switch
/// (that may reduce), between random pairs, or none.
inline topology::NodeTemplate random_server(RandomStream& random) {
  topology::NodeTemplate node;
  const auto gpus = 2 + static_cast<std::uint32_t>(random.below(5)),
             nics = 1 + static_cast<std::uint32_t>(random.below(gpus));
  const auto add = [&](topology::DeviceKind kind, const char* name, std::uint32_t k, std::uint32_t numa) {
    node.devices.push_back(topology::test_device(kind, name + std::to_string(k)));
    node.devices.back().numa = static_cast<std::int16_t>(numa);
    return static_cast<std::uint32_t>(node.devices.size() - 1);
  };
  const auto join = [&](std::uint32_t a, std::uint32_t b, topology::LinkKind kind, std::uint64_t most) {
    node.links.push_back({a, b,
                          topology::test_link(kind, 1 + random.below(most),
                                              Duration::ns(static_cast<std::int64_t>(random.below(2000))))});
  };
  for (std::uint32_t g = 0; g < gpus; ++g) add(topology::DeviceKind::kGpu, "gpu", g, g % 2);
  std::uint32_t pcie[2], cpu[2];
  for (std::uint32_t k = 0; k < 2; ++k) pcie[k] = add(topology::DeviceKind::kPcieSwitch, "pcie", k, k);
  for (std::uint32_t k = 0; k < 2; ++k) cpu[k] = add(topology::DeviceKind::kCpu, "cpu", k, k);
  for (std::uint32_t k = 0; k < 2; ++k) join(pcie[k], cpu[k], topology::LinkKind::kPcie, 64);
  join(cpu[0], cpu[1], topology::LinkKind::kSocket, 64);
  for (std::uint32_t g = 0; g < gpus; ++g) join(g, pcie[g % 2], topology::LinkKind::kPcie, 64);
  for (std::uint32_t k = 0; k < nics; ++k)
    join(add(topology::DeviceKind::kNic, "nic", k, k % 2), pcie[k % 2], topology::LinkKind::kPcie, 64);
  const auto wiring = random.below(3);
  if (wiring == 0) {
    const std::uint32_t s = add(topology::DeviceKind::kNvSwitch, "nvswitch", 0, 0);
    node.devices[s].device_class.reduces = random.below(2) == 0;
    node.devices[s].numa = -1;
    for (std::uint32_t g = 0; g < gpus; ++g) join(g, s, topology::LinkKind::kNvlink, 450);
  } else if (wiring == 1) {
    for (std::uint32_t a = 0; a < gpus; ++a)
      for (std::uint32_t b = a + 1; b < gpus; ++b)
        if (random.below(3) > 0) join(a, b, topology::LinkKind::kNvlink, 100);
  }
  return node;
}

/// 1 to 4 such servers of one make, 12 GPUs at most, on one or two leaves below a spine, a few cables degraded.
inline topology::Topology random_machine(RandomStream& random) {
  topology::TopologyBuilder b;
  const topology::NodeTemplate node = random_server(random);
  const std::uint32_t t = b.add_template(node);
  std::uint32_t gpus = 0, nodes = 1 + static_cast<std::uint32_t>(random.below(4));
  for (const topology::TemplateDevice& d : node.devices) gpus += d.device_class.kind == topology::DeviceKind::kGpu;
  nodes = std::min(nodes, 12 / gpus);
  for (std::uint32_t i = 0; i < nodes; ++i) b.add_block(t);
  const auto add = [&](topology::DeviceKind kind, const char* name) {
    topology::DeviceClass c;
    c.kind = kind;
    return b.add_switch(c, name);
  };
  const auto cable = [&] {
    return topology::test_link(topology::LinkKind::kInfiniband, 1 + random.below(50), Duration::us(2));
  };
  const topology::DeviceId leaf[2] = {add(topology::DeviceKind::kLeaf, "leaf0"),
                                      add(topology::DeviceKind::kLeaf, "leaf1")},
                           spine = add(topology::DeviceKind::kSpine, "spine0");
  for (const topology::DeviceId l : leaf) b.connect(l, spine, cable());
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t p = 0; p < node.devices.size(); ++p)
      if (node.devices[p].device_class.kind == topology::DeviceKind::kNic)
        b.connect(b.device(static_cast<topology::BlockId>(i), p), leaf[i % 2], cable());
  for (int d = 0; d < 3; ++d)
    b.degrade(static_cast<topology::LinkId>(random.below(b.peek().link_count())), 0.05 + 0.9 * random.uniform());
  return std::move(b).seal();
}

}  // namespace busbar::lowering
