#include "busbar/topology/selector.h"

#include <fnmatch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "busbar/topology/cable_index.h"
#include "busbar/topology/connectivity.h"
#include "busbar/topology/levels.h"

namespace busbar::topology {
namespace {

using testing::HasSubstr;

LinkClass link(LinkKind kind, std::uint64_t gigabytes) {
  LinkClass c;
  c.kind = kind;
  c.wire_rate = BytesPerSecond{gigabytes * 1'000'000'000};
  c.latency = Duration::ns(500);
  return c;
}

/// `nodes` nodes of 4 GPUs, 2 NVSwitches and 4 NICs; two leaves (even and odd NICs), two spines with two cables to
/// each.
TopologyBuilder machine(std::uint32_t nodes) {
  NodeTemplate node;
  const auto add = [&](DeviceKind kind, const std::string& name) {
    TemplateDevice d;
    d.device_class.kind = kind;
    d.name = name;
    if (kind == DeviceKind::kGpu) d.device_class.memory_rate = BytesPerSecond{3'000'000'000'000};
    node.devices.push_back(d);
  };
  for (int i = 0; i < 4; ++i) add(DeviceKind::kGpu, "gpu" + std::to_string(i));
  for (int i = 0; i < 2; ++i) add(DeviceKind::kNvSwitch, "nvswitch" + std::to_string(i));
  for (int i = 0; i < 4; ++i) add(DeviceKind::kNic, "nic" + std::to_string(i));
  for (std::uint32_t g = 0; g < 4; ++g) {
    node.links.push_back({g, 4, link(LinkKind::kNvlink, 100)});
    node.links.push_back({g, 5, link(LinkKind::kNvlink, 100)});
    node.links.push_back({g, 6 + g, link(LinkKind::kPcie, 64)});
  }
  TopologyBuilder b;
  const auto index = b.add_template(std::move(node));
  for (std::uint32_t n = 0; n < nodes; ++n) b.add_block(index);
  std::vector<DeviceId> leaves, spines;
  DeviceClass c;
  for (int i = 0; i < 2; ++i) {
    c.kind = DeviceKind::kLeaf;
    leaves.push_back(b.add_switch(c, "leaf" + std::to_string(i)));
  }
  for (int i = 0; i < 2; ++i) {
    c.kind = DeviceKind::kSpine;
    spines.push_back(b.add_switch(c, "spine" + std::to_string(i)));
  }
  for (std::uint32_t n = 0; n < nodes; ++n) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      b.connect(b.device(static_cast<BlockId>(n), 6 + i), leaves[i % 2], link(LinkKind::kInfiniband, 50));
    }
  }
  for (const DeviceId l : leaves) {
    for (const DeviceId s : spines) {
      b.connect(l, s, link(LinkKind::kInfiniband, 50));
      b.connect(l, s, link(LinkKind::kInfiniband, 50));
    }
  }
  return b;
}

std::vector<std::string> names(const TopologyBuilder& b, std::string_view selector) {
  std::vector<std::string> out;
  for (const LinkId l : select_cables(b.peek(), selector).value()) out.push_back(b.peek().name(l));
  return out;
}
std::size_t cables(const TopologyBuilder& b, std::string_view selector) { return names(b, selector).size(); }
std::string why(const TopologyBuilder& b, std::string_view selector) {
  const auto r = select_cables(b.peek(), selector);
  if (r.ok()) return "no error";
  EXPECT_EQ(r.error().code, ErrorCode::kNotFound);
  return r.error().message;
}

TEST(Selector, NamesADeviceItsCablesAndPairs) {
  const TopologyBuilder b = machine(8);
  EXPECT_THAT(names(b, "node5.nic2"), testing::ElementsAre("node5.gpu2->node5.nic2", "node5.nic2->leaf0"));
  EXPECT_THAT(names(b, "node5.gpu3-node5.nvswitch0"), testing::ElementsAre("node5.gpu3->node5.nvswitch0"));
  EXPECT_EQ(names(b, "node5.gpu3-nvswitch0"), names(b, "node5.gpu3-node5.nvswitch0"));
  EXPECT_EQ(names(b, "node5.nvswitch0-gpu3"), names(b, "node5.gpu3-nvswitch0"));
  EXPECT_THAT(names(b, "leaf1-spine0"), testing::ElementsAre("leaf1->spine0", "leaf1->spine0"));
  EXPECT_EQ(names(b, "spine0-leaf1"), names(b, "leaf1-spine0"));
  EXPECT_THAT(names(b, "node7.nic1-leaf1"), testing::ElementsAre("node7.nic1->leaf1"));
  EXPECT_THAT(names(b, "leaf1-node7.nic1"), testing::ElementsAre("node7.nic1->leaf1"));
  EXPECT_EQ(cables(b, "leaf0"), 2u * 8 + 4);
  EXPECT_EQ(cables(b, "node3"), 12u + 4);
}

TEST(Selector, GlobsMatchNodesDevicesAndSwitches) {
  const TopologyBuilder b = machine(12);
  EXPECT_EQ(cables(b, "node[0-3].nic?"), 4u * 4 * 2);
  EXPECT_EQ(cables(b, "node1*.nic0"), 3u * 2);  // 1, 10, 11
  EXPECT_EQ(cables(b, "node*.gpu[0-1]-nvswitch0"), 12u * 2);
  EXPECT_EQ(cables(b, "leaf*-spine*"), 8u);
  EXPECT_EQ(cables(b, "*-spine1"), 4u);
  EXPECT_EQ(cables(b, "node*.gpu*-nvswitch[01]"), 12u * 8);
}

// The index gives the same answers as a pass over the machine, errors included.
TEST(Selector, AnIndexOfCablesAgreesWithThePassOverTheMachine) {
  const TopologyBuilder b = machine(3);
  const Topology& t = b.peek();
  const CableIndex cables(t);
  std::vector<std::string> names = {
      "node1",  "node9.gpu0",  "node1.gpu9",         "gpu1", "leaf", "node*.gpu0", "", "-",
      "node1.", "node01.gpu1", "node4294967297.gpu1"};
  for (std::uint32_t d = 0; d < t.device_count(); ++d) names.push_back(t.name(static_cast<DeviceId>(d)));
  for (const std::string local : {"gpu1", "nvswitch0", "nic3"}) names.push_back(local);
  for (const std::string& first : names)
    for (std::size_t second = 0; second <= names.size(); ++second) {
      const std::string selector = second == names.size() ? first : first + "-" + names[second];
      const auto quick = cables.select(selector), slow = select_cables(t, selector);
      ASSERT_EQ(quick.ok(), slow.ok()) << selector;
      if (quick.ok())
        EXPECT_EQ(*quick, *slow) << selector;
      else
        EXPECT_EQ(quick.error().message, slow.error().message) << selector;
    }
}

TEST(Selector, SuggestsNamesIfNothingMatches) {
  const TopologyBuilder b = machine(8);
  EXPECT_EQ(why(b, "node5.nik2"),
            "'node5.nik2' matches nothing: no device is called 'node5.nik2'; did you mean 'node5.nic2'?");
  EXPECT_THAT(why(b, "node8.nic2"), HasSubstr("no node is called 'node8'; the nodes are node0 to node7"));
  EXPECT_THAT(why(b, "nodes.nic2"), HasSubstr("the nodes are node0 to node7"));
  EXPECT_THAT(why(b, "laef1-spine0"), HasSubstr("did you mean 'leaf1'?"));
  EXPECT_THAT(why(b, "leaf0-leaf1"), HasSubstr("no cable joins these devices"));
  EXPECT_THAT(why(b, "node5.gpu0-node6.nvswitch0"), HasSubstr("no cable joins these devices"));
  for (const char* bad :
       {"", "-", ".", "node5.", "node5.nic[", "a-b-c", "node-1", "node5.gpu3-", "node99999999999.gpu0"}) {
    EXPECT_FALSE(select_cables(b.peek(), bad).ok()) << bad;
  }
}

TEST(Selector, DegradesAndFailsBothDirections) {
  TopologyBuilder b = machine(2);
  ASSERT_TRUE(degrade_cables(b, "node1.gpu2-nvswitch1", 0.5).ok());
  ASSERT_TRUE(fail_cables(b, "leaf0-spine1").ok());
  for (const double factor : {0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(degrade_cables(b, "leaf1-spine1", factor).error().message, HasSubstr("must lie between 0 and 1"));
  }
  const LinkId half = select_cables(b.peek(), "node1.gpu2-nvswitch1").value()[0];
  const std::vector<LinkId> dead = select_cables(b.peek(), "leaf0-spine1").value();
  const Topology t = std::move(b).seal();
  EXPECT_EQ(t.payload_rate(half), 50e9);
  EXPECT_EQ(t.payload_rate(reverse(half)), 50e9);
  ASSERT_EQ(dead.size(), 2u);
  for (const LinkId l : dead) {
    EXPECT_TRUE(t.failed(l));
    EXPECT_TRUE(t.failed(reverse(l)));
  }
  EXPECT_TRUE(check_connected(t).ok());
}

// The C library's fnmatch gives the expected answers for patterns without its extensions.
RC_GTEST_PROP(Selector, GlobsAgreeWithTheCLibrary, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '0', '1', '2'));
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "b", "0", "1", "*", "?", "[01]", "[0-2]", "[ab]"));
  std::string pattern;
  for (const std::string& p : parts) pattern += p;
  RC_ASSERT(matches_glob(pattern, text) == (::fnmatch(pattern.c_str(), text.c_str(), 0) == 0));
}

RC_GTEST_PROP(Selector, NeverCrashesOnAnyText, (const std::string& text)) {
  const TopologyBuilder b = machine(3);
  (void)select_cables(b.peek(), text).ok();
  (void)select_cables(b.peek(), "node1.gpu0-" + text).ok();
  (void)matches_glob(text, "node1");
}

TEST(Connectivity, NamesTheGpuThatIsCutOff) {
  TopologyBuilder alone = machine(2);
  ASSERT_TRUE(fail_cables(alone, "node1.gpu2").ok());
  const Status s = check_connected(std::move(alone).seal());
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, ErrorCode::kUnreachable);
  EXPECT_THAT(s.error().message, HasSubstr("node1.gpu2 is disconnected: it has no live link"));

  TopologyBuilder island = machine(3);
  ASSERT_TRUE(fail_cables(island, "node2.nic*").ok());
  EXPECT_THAT(check_connected(std::move(island).seal()).error().message,
              HasSubstr("node2.gpu0 cannot reach the other GPUs"));
}

TEST(Connectivity, AGpuRelaysToANeighboursNic) {
  TopologyBuilder b = machine(2);
  ASSERT_TRUE(fail_cables(b, "node1.nic2").ok());
  EXPECT_TRUE(check_connected(std::move(b).seal()).ok());
  TopologyBuilder one_node = machine(1);
  ASSERT_TRUE(fail_cables(one_node, "node0.nic2").ok());
  EXPECT_TRUE(check_connected(std::move(one_node).seal()).ok());  // the switches join all of its GPUs
}

TEST(Levels, AddUpTheCablesThatAGpuHas) {
  TopologyBuilder b = machine(4);
  const Topology t = std::move(b).seal();
  const auto levels = machine_levels(t);
  std::vector<std::string> found;
  for (const Level& l : levels) found.push_back(l.name);
  EXPECT_THAT(found, testing::ElementsAre("hbm", "scale-up", "pcie", "nic", "leaf", "spine"));
  EXPECT_EQ(levels[0].wire_GBps, 3000);
  EXPECT_EQ(levels[1].wire_GBps, 200);
  EXPECT_EQ(levels[1].latency, Duration::ns(1000));
  EXPECT_EQ(levels[3].wire_GBps, 50);
  EXPECT_EQ(levels[3].latency, Duration::ns(1000));
  EXPECT_EQ(levels[4].wire_GBps, 8 * 50.0 / 16);  // 8 cables between leaves and spines, 16 GPUs
  EXPECT_EQ(levels[4].latency, Duration::ns(2000));
  const auto counts = device_counts(t);
  EXPECT_THAT(counts, testing::Contains(std::pair(DeviceKind::kGpu, 16u)));
  EXPECT_THAT(counts, testing::Contains(std::pair(DeviceKind::kSpine, 2u)));
  EXPECT_EQ(count(total_memory(t)), 0u);
}

TEST(Levels, CountOnlyLiveCables) {
  TopologyBuilder b = machine(4);
  ASSERT_TRUE(fail_cables(b, "spine1").ok());
  const Topology t = std::move(b).seal();
  EXPECT_EQ(machine_levels(t)[4].wire_GBps, 4 * 50.0 / 16);
}

}  // namespace
}  // namespace busbar::topology
