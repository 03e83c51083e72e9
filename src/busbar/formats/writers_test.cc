#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <pugixml.hpp>
#include <set>

#include "busbar/formats/dot_writer.h"
#include "busbar/formats/nccl_topo_xml_writer.h"

namespace busbar::formats {
namespace {

using testing::HasSubstr;
using testing::Not;

topology::LinkClass link(topology::LinkKind kind, std::uint64_t GBps, std::uint16_t lanes) {
  topology::LinkClass c;
  c.kind = kind;
  c.wire_rate = BytesPerSecond{GBps * 1'000'000'000};
  c.lanes = lanes;
  return c;
}

/// Two sockets; below each a PCIe switch with `gpus` GPUs and a NIC; all GPUs on two NVSwitches; a storage NIC on cpu0.
topology::NodeTemplate server(std::uint32_t gpus) {
  topology::NodeTemplate n;
  n.name = "server";
  const auto add = [&](topology::DeviceKind kind, std::string name, std::string part, std::int16_t numa) {
    topology::DeviceClass c;
    c.kind = kind;
    c.part = std::move(part);
    if (kind == topology::DeviceKind::kGpu) c.compute_capability = 90;
    if (kind == topology::DeviceKind::kCpu) c.processor = {"x86_64", "AuthenticAMD", 25, 17};
    n.devices.push_back({std::move(c), std::move(name), numa});
    return static_cast<std::uint32_t>(n.devices.size() - 1);
  };
  const auto nvs0 = add(topology::DeviceKind::kNvSwitch, "nvswitch0", "", -1),
             nvs1 = add(topology::DeviceKind::kNvSwitch, "nvswitch1", "", -1);
  std::uint32_t gpu = 0;
  for (std::int16_t s = 0; s < 2; ++s) {
    const auto cpu = add(topology::DeviceKind::kCpu, "cpu" + std::to_string(s), "Xeon 8480C", s);
    const auto pcie = add(topology::DeviceKind::kPcieSwitch, "pcie" + std::to_string(s), "", s);
    const auto nic = add(topology::DeviceKind::kNic, "nic" + std::to_string(s), "", s);
    n.links.push_back({pcie, cpu, link(topology::LinkKind::kPcie, 64, 16)});
    n.links.push_back({nic, pcie, link(topology::LinkKind::kPcie, 64, 16)});
    for (std::uint32_t i = 0; i < gpus; ++i) {
      const auto g = add(topology::DeviceKind::kGpu, "gpu" + std::to_string(gpu++), "h100-sxm", s);
      n.links.push_back({g, pcie, link(topology::LinkKind::kPcie, 32, 8)});
      n.links.push_back({g, nvs0, link(topology::LinkKind::kNvlink, 250, 10)});
      n.links.push_back({g, nvs1, link(topology::LinkKind::kNvlink, 200, 8)});
    }
    if (s == 0)
      n.links.push_back(
          {add(topology::DeviceKind::kNic, "storage", "", 0), cpu, link(topology::LinkKind::kPcie, 64, 16)});
  }
  return n;
}

topology::Topology cabled(std::uint32_t gpus, std::uint32_t nodes) {
  topology::TopologyBuilder b;
  const auto index_of_template = b.add_template(server(gpus));
  const topology::DeviceId leaf =
      b.add_switch({topology::DeviceKind::kLeaf, "", Bytes{0}, BytesPerSecond{0}, "", false}, "leaf0");
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const topology::BlockId block = b.add_block(index_of_template);
    for (std::uint32_t p = 0; p < b.peek().templates()[0].devices.size(); ++p)
      if (b.peek().templates()[0].devices[p].name.starts_with("nic"))
        b.connect(b.device(block, p), leaf, link(topology::LinkKind::kInfiniband, 50, 4));
  }
  return std::move(b).seal();
}

TEST(NcclTopoXml, HoldsEveryDeviceBelowItsNumaNode) {
  const topology::Topology t = cabled(2, 1);
  const auto text = write_nccl_topo_xml(t, topology::BlockId{0});
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_THAT(*text, Not(HasSubstr(" />"))) << "NCCL's reader takes the blank for one more attribute";
  pugi::xml_document d;
  ASSERT_TRUE(d.load_string(text->c_str()));
  EXPECT_STREQ(d.child("system").attribute("version").value(), "1");
  std::set<std::string> bus;
  int ranks = 0;
  for (const auto& node : d.select_nodes("//pci")) bus.insert(node.node().attribute("busid").value());
  EXPECT_EQ(bus.size(), d.select_nodes("//pci").size()) << "bus ids are unique";
  for (const char* numa : {"0", "1"}) {
    const auto cpu = d.child("system").find_child_by_attribute("cpu", "numaid", numa);
    ASSERT_TRUE(cpu);
    EXPECT_STREQ(cpu.attribute("vendor").value(), "AuthenticAMD");
    EXPECT_STREQ(cpu.attribute("modelid").value(), "17");
    EXPECT_STREQ(cpu.attribute("familyid").value(), "175") << "15 + (10 << 4)";
    for (const auto& gpu : cpu.select_nodes("pci/pci/gpu")) {
      EXPECT_EQ(gpu.node().attribute("rank").as_int(-1), ranks++);
      EXPECT_EQ(gpu.node().attribute("sm").as_int(), 90);
      int lanes = 0;
      for (const auto& l : gpu.node().children("nvlink")) lanes += l.attribute("count").as_int();
      EXPECT_EQ(lanes, 18);
      EXPECT_STREQ(gpu.node().parent().attribute("link_speed").value(), "32.0 GT/s PCIe");
      EXPECT_EQ(gpu.node().parent().attribute("link_width").as_int(), 8);
    }
    const auto net = cpu.select_node("pci/pci/nic/net").node();
    EXPECT_EQ(net.attribute("speed").as_int(), 400000);
  }
  EXPECT_EQ(ranks, 4);
  EXPECT_EQ(d.select_nodes("//net").size(), 2u) << "the storage NIC has no cable";
}

TEST(NcclTopoXml, StaysWithinTheLimitsOfNccl) {
  const auto count_nodes = [](const std::string& text) {
    pugi::xml_document d;
    EXPECT_TRUE(d.load_string(text.c_str()));
    return d.select_nodes("//*").size();
  };
  const topology::Topology merged = cabled(40, 1);  // 80 GPUs with two NVLink elements each would be over 256 elements
  const auto text = write_nccl_topo_xml(merged, topology::BlockId{0});
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_LE(count_nodes(*text), kMostNcclNodes);
  EXPECT_THAT(*text, HasSubstr("count=\"18\""));
  const auto refused = write_nccl_topo_xml(cabled(60, 1), topology::BlockId{0});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

TEST(Dot, NamesEveryDeviceAndMergesParallelLinks) {
  const std::string dot = write_dot(cabled(1, 2), "two \"servers\"");
  EXPECT_THAT(dot, testing::StartsWith("graph \"two \\\"servers\\\"\" {"));
  for (const char* name : {"\"node0.gpu0\"", "\"node1.gpu1\"", "\"leaf0\"", "\"node1.cpu1\""})
    EXPECT_THAT(dot, HasSubstr(name));
  EXPECT_THAT(dot, HasSubstr("\"leaf0\" -- \"node0.nic0\""));
  EXPECT_THAT(dot, testing::EndsWith("}\n"));
}

TEST(Dot, DrawsServersAsBoxesWhereThereAreMany) {
  const std::string dot = write_dot(cabled(8, 100), "many");
  EXPECT_THAT(dot, Not(HasSubstr("gpu")));
  EXPECT_THAT(dot, HasSubstr("\"leaf0\" -- \"node99\" [label=\"2 x, 100 GB/s\"]"));
}

}  // namespace
}  // namespace busbar::formats
