// Path types, matrix, tree and bisection on machines small enough to check by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "busbar/topology/bisection.h"
#include "busbar/topology/internal/max_flow.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/matrix.h"
#include "busbar/topology/path_type.h"
#include "busbar/topology/pcie_roots.h"
#include "busbar/topology/tree_view.h"

namespace busbar::topology {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::Pair;

/// A node, link by link.
class Draft {
 public:
  std::uint32_t add(DeviceKind kind, std::string name, std::int16_t numa = -1) {
    DeviceClass c;
    c.kind = kind;
    if (kind == DeviceKind::kGpu) c.memory = Bytes{16'000'000'000};
    node_.devices.push_back({c, std::move(name), numa});
    return static_cast<std::uint32_t>(node_.devices.size() - 1);
  }
  void join(std::uint32_t a, std::uint32_t b, LinkKind kind, std::uint64_t GBps, std::uint16_t lanes = 1) {
    LinkClass c;
    c.kind = kind;
    c.wire_rate = BytesPerSecond{GBps * 1'000'000'000};
    c.lanes = lanes;
    node_.links.push_back({a, b, c});
  }
  Topology seal() const {
    TopologyBuilder b;
    b.add_block(b.add_template(node_));
    return std::move(b).seal();
  }

 private:
  NodeTemplate node_;
};

DeviceId named(const Topology& t, const std::string& name) { return t.find("node0." + name).value(); }

PathType type(const Topology& t, const std::string& a, const std::string& b, GpuRelay relay = GpuRelay::kNo) {
  return BlockPaths(t, named(t, a), relay).type(named(t, b));
}

/// Two sockets. cpu0: pcie0 (gpu0, nic0) and pcie1 above pcie2 (gpu1) and pcie3 (gpu2); cpu1: gpu3 at a port of its
/// own. gpu0 and gpu1 share 2 NVLinks, gpu1 and gpu2 share 1.
Topology tree_machine() {
  Draft d;
  const auto cpu0 = d.add(DeviceKind::kCpu, "cpu0", 0), cpu1 = d.add(DeviceKind::kCpu, "cpu1", 1);
  const auto p0 = d.add(DeviceKind::kPcieSwitch, "pcie0", 0), p1 = d.add(DeviceKind::kPcieSwitch, "pcie1", 0),
             p2 = d.add(DeviceKind::kPcieSwitch, "pcie2", 0), p3 = d.add(DeviceKind::kPcieSwitch, "pcie3", 0);
  const auto g0 = d.add(DeviceKind::kGpu, "gpu0", 0), g1 = d.add(DeviceKind::kGpu, "gpu1", 0),
             g2 = d.add(DeviceKind::kGpu, "gpu2", 0), g3 = d.add(DeviceKind::kGpu, "gpu3", 1);
  const auto nic = d.add(DeviceKind::kNic, "nic0", 0);
  d.join(cpu0, cpu1, LinkKind::kSocket, 40);
  for (const auto& [a, b] :
       {std::pair(p0, cpu0), {p1, cpu0}, {p2, p1}, {p3, p1}, {g0, p0}, {nic, p0}, {g1, p2}, {g2, p3}, {g3, cpu1}})
    d.join(a, b, LinkKind::kPcie, 32, 16);
  d.join(g0, g1, LinkKind::kNvlink, 50, 2);
  d.join(g1, g2, LinkKind::kNvlink, 25, 1);
  return d.seal();
}

TEST(PcieRoots, AreTheTopmostDevicesBelowACpu) {
  const Topology t = tree_machine();
  std::vector<std::string> text;
  for (const PcieRoot& r : pcie_roots(t, BlockId{0})) {
    text.push_back(t.name(r.top) + (r.shared() ? " shared:" : ":"));
    for (const DeviceId d : r.gpus) text.back() += ' ' + t.name(d);
    for (const DeviceId d : r.nics) text.back() += ' ' + t.name(d);
  }
  EXPECT_THAT(text,
              testing::UnorderedElementsAre("node0.pcie0 shared: node0.gpu0 node0.nic0",
                                            "node0.pcie1 shared: node0.gpu1 node0.gpu2", "node0.gpu3: node0.gpu3"));
}

TEST(PcieRoots, OfNicsWithoutCablesOnlyThoseBesideAGpuServeGpus) {
  Draft d;
  const auto cpu = d.add(DeviceKind::kCpu, "cpu0"), top = d.add(DeviceKind::kPcieSwitch, "pcie0");
  const auto gpu = d.add(DeviceKind::kGpu, "gpu0"), near = d.add(DeviceKind::kNic, "nic0"),
             far = d.add(DeviceKind::kNic, "storage0");
  for (const auto& [a, b] : {std::pair(top, cpu), {gpu, top}, {near, top}, {far, cpu}})
    d.join(a, b, LinkKind::kPcie, 32, 16);
  const Topology t = d.seal();
  EXPECT_THAT(gpu_nics(t, pcie_roots(t, BlockId{0})), ElementsAre(named(t, "nic0")));
}

TEST(PathTypes, FollowTheFarthestLinkOfTheNearestWay) {
  const Topology t = tree_machine();
  EXPECT_EQ(type(t, "gpu0", "gpu0"), PathType::kLoc);
  EXPECT_EQ(type(t, "gpu0", "gpu1"), PathType::kNvl);
  EXPECT_EQ(type(t, "gpu0", "nic0"), PathType::kPix);
  EXPECT_EQ(type(t, "gpu1", "nic0"), PathType::kPhb);
  EXPECT_EQ(type(t, "gpu1", "gpu3"), PathType::kSys);
  EXPECT_EQ(type(t, "gpu0", "gpu2"), PathType::kPhb);
  EXPECT_EQ(type(t, "gpu0", "gpu2", GpuRelay::kYes), PathType::kNvb);
}

TEST(PathTypes, TellOnePcieSwitchFromSeveral) {
  Draft d;
  const auto top = d.add(DeviceKind::kPcieSwitch, "top"), left = d.add(DeviceKind::kPcieSwitch, "left");
  const auto g0 = d.add(DeviceKind::kGpu, "gpu0"), g1 = d.add(DeviceKind::kGpu, "gpu1"),
             g2 = d.add(DeviceKind::kGpu, "gpu2");
  for (const auto& [a, b] : {std::pair(left, top), {g0, left}, {g1, left}, {g2, top}})
    d.join(a, b, LinkKind::kPcie, 32, 16);
  const Topology t = d.seal();
  EXPECT_EQ(type(t, "gpu0", "gpu1"), PathType::kPix);
  EXPECT_EQ(type(t, "gpu0", "gpu2"), PathType::kPxb);
}

TEST(PathTypes, CrossNumaNodesOfOneSocketAsSys) {
  Draft d;
  const auto cpu = d.add(DeviceKind::kCpu, "cpu0", 0);
  for (std::int16_t i = 0; i < 3; ++i)
    d.join(d.add(DeviceKind::kGpu, "gpu" + std::to_string(i), static_cast<std::int16_t>(i / 2)), cpu, LinkKind::kPcie,
           32, 16);
  const Topology t = d.seal();
  EXPECT_EQ(type(t, "gpu0", "gpu1"), PathType::kPhb);
  EXPECT_EQ(type(t, "gpu0", "gpu2"), PathType::kSys);
}

TEST(PathTypes, ReachANicThroughAChipToChipLink) {
  Draft d;
  const auto cpu = d.add(DeviceKind::kCpu, "cpu0"), gpu = d.add(DeviceKind::kGpu, "gpu0"),
             nic = d.add(DeviceKind::kNic, "nic0");
  d.join(gpu, cpu, LinkKind::kC2c, 450);
  d.join(nic, cpu, LinkKind::kPcie, 64, 16);
  const Topology t = d.seal();
  EXPECT_EQ(type(t, "gpu0", "cpu0"), PathType::kC2c);
  EXPECT_EQ(type(t, "gpu0", "nic0"), PathType::kP2c);
}

TEST(PathTypes, AreUnreachableWithoutAPath) {
  Draft d;
  d.add(DeviceKind::kGpu, "gpu0");
  d.add(DeviceKind::kGpu, "gpu1");
  EXPECT_EQ(type(d.seal(), "gpu0", "gpu1"), PathType::kDis);
}

TEST(Matrix, ReadsAsNvidiaSmiPrintsIt) {
  const Topology t = tree_machine();
  const RelationMatrix m = relation_matrix(t, BlockId{0});
  EXPECT_THAT(m.names, ElementsAre("GPU0", "GPU1", "GPU2", "GPU3", "NIC0"));
  EXPECT_THAT(m.cells[0], ElementsAre("X", "NV2", "NODE", "SYS", "PIX"));
  EXPECT_THAT(m.cells[1], ElementsAre("NV2", "X", "NV1", "SYS", "NODE"));
  EXPECT_THAT(m.cpu_affinity, ElementsAre("cpu0", "cpu0", "cpu0", "cpu1", "cpu0"));
  EXPECT_THAT(m.numa_affinity, ElementsAre("0", "0", "0", "1", "0"));
  EXPECT_THAT(m.legend, Contains(Pair("NV#", testing::_)));
  EXPECT_THAT(m.legend, Not(Contains(Pair("PXB", testing::_)))) << "only words that occur are explained";
  for (std::size_t i = 0; i < m.cells.size(); ++i)
    for (std::size_t j = 0; j < m.cells.size(); ++j) EXPECT_EQ(m.cells[i][j], m.cells[j][i]);
}

TEST(Tree, ShowsEveryDeviceOnceBelowItsUplink) {
  const Topology t = tree_machine();
  const auto lines = block_tree(t, BlockId{0});
  EXPECT_EQ(lines.size(), t.device_count());
  std::vector<std::string> shown;
  for (const TreeLine& l : lines) shown.push_back(std::string(2 * l.depth, ' ') + t.name(l.device).substr(6));
  EXPECT_THAT(shown, ElementsAre("cpu0", "  pcie0", "    gpu0", "    nic0", "  pcie1", "    pcie2", "      gpu1",
                                 "    pcie3", "      gpu2", "cpu1", "  gpu3"));
}

TEST(MaxFlow, EqualsTheNarrowestCut) {
  MaxFlow f(4);  // 0 -> {1, 2} -> 3
  f.connect(0, 1, 3, 0);
  f.connect(0, 2, 2, 0);
  f.connect(1, 3, 2, 0);
  f.connect(2, 3, 3, 0);
  f.connect(1, 2, 1, 0);
  EXPECT_EQ(f.solve(0, 3), 5);
  EXPECT_EQ(f.solve(0, 3), 5) << "solving again starts afresh";
  EXPECT_EQ(f.solve(3, 0), 0) << "edges are one way unless both widths are given";
}

// A chain of four: chips forward any number of times, GPUs once.
TEST(BlockPaths, ChipsPassOnAnyNumberOfTimesAndGpusOnce) {
  for (const LinkKind kind : {LinkKind::kIci, LinkKind::kNvlink}) {
    Draft d;
    for (int i = 0; i < 4; ++i) d.add(DeviceKind::kGpu, "gpu" + std::to_string(i));
    for (std::uint32_t i = 0; i < 3; ++i) d.join(i, i + 1, kind, 50);
    const Topology t = d.seal();
    EXPECT_EQ(type(t, "gpu0", "gpu1", GpuRelay::kYes), PathType::kNvl);
    EXPECT_EQ(type(t, "gpu0", "gpu2", GpuRelay::kYes), PathType::kNvb);
    EXPECT_EQ(type(t, "gpu0", "gpu3", GpuRelay::kYes), kind == LinkKind::kIci ? PathType::kNvb : PathType::kDis);
    EXPECT_EQ(type(t, "gpu0", "gpu3"), PathType::kDis);
  }
}

TEST(Matrix, GpusThatMeetOverScaleUpLinksToTheirCpuHaveNoBond) {
  Draft d;
  const auto cpu = d.add(DeviceKind::kCpu, "cpu0");
  for (std::uint32_t i = 1; i <= 2; ++i)
    d.join(d.add(DeviceKind::kGpu, "gpu" + std::to_string(i)), cpu, LinkKind::kXgmi, 36);
  EXPECT_THAT(relation_matrix(d.seal(), BlockId{0}).cells[0], ElementsAre("X", "PHB"));
}

TEST(Bisection, OfASwitchIsHalfItsPorts) {
  Draft d;
  const auto s = d.add(DeviceKind::kNvSwitch, "nvswitch0");
  for (int i = 0; i < 8; ++i) d.join(d.add(DeviceKind::kGpu, "gpu" + std::to_string(i)), s, LinkKind::kNvlink, 450, 18);
  const Bisection b = bisect(d.seal());
  EXPECT_EQ(b.GBps, 1800);
  EXPECT_EQ(b.kind, "exact");
}

// Any split of a ring cuts it in two places, whatever its numbers: 0-2-4-1-3-5-0.
TEST(Bisection, FindsTheNarrowSplitForAnyNumbering) {
  Draft d;
  for (int i = 0; i < 6; ++i) d.add(DeviceKind::kGpu, "gpu" + std::to_string(i));
  constexpr std::uint32_t kRing[] = {0, 2, 4, 1, 3, 5};
  for (std::size_t i = 0; i < 6; ++i) d.join(kRing[i], kRing[(i + 1) % 6], LinkKind::kNvlink, 25);
  EXPECT_EQ(bisect(d.seal()).GBps, 50);
}

// Two leaves of two nodes each, one spine: the halves are joined by the leaves' uplinks, half as wide as the NICs.
TEST(Bisection, OfAnOversubscribedFabricIsItsUplinks) {
  TopologyBuilder b;
  NodeTemplate node;
  node.name = "one-gpu";
  DeviceClass gpu, nic;
  nic.kind = DeviceKind::kNic;
  node.devices = {{gpu, "gpu0", -1}, {nic, "nic0", -1}};
  LinkClass pcie, cable;
  pcie.kind = LinkKind::kPcie;
  pcie.wire_rate = BytesPerSecond{64'000'000'000};
  cable.kind = LinkKind::kInfiniband;
  cable.wire_rate = BytesPerSecond{50'000'000'000};
  node.links = {{0, 1, pcie}};
  const auto number = b.add_template(node);
  DeviceClass leaf, spine;
  leaf.kind = DeviceKind::kLeaf;
  spine.kind = DeviceKind::kSpine;
  const DeviceId top = b.add_switch(spine, "spine0");
  for (int l = 0; l < 2; ++l) {
    const DeviceId s = b.add_switch(leaf, "leaf" + std::to_string(l));
    b.connect(s, top, cable);
    for (int i = 0; i < 2; ++i) b.connect(b.device(b.add_block(number), 1), s, cable);
  }
  const Bisection found = bisect(std::move(b).seal());
  EXPECT_EQ(found.GBps, 50);
  EXPECT_EQ(found.kind, "symmetric");
}

TEST(Bisection, OfOneGpuIsNothing) {
  Draft d;
  d.add(DeviceKind::kGpu, "gpu0");
  EXPECT_EQ(bisect(d.seal()).kind, "none");
}

TEST(ScaleUpDomain, StopsAtCpusAndCountsMemory) {
  EXPECT_EQ(scale_up_domain(tree_machine()).gpus, 3u);
  EXPECT_EQ(count(scale_up_domain(tree_machine()).memory), 48'000'000'000u);
  EXPECT_EQ(scale_up_domain(tree_machine()).ports_GBps, 2 * (50 + 25)) << "both ends of a link are ports";
}

TEST(Levels, CompareEachWithTheOneBefore) {
  Draft d;
  const auto cpu = d.add(DeviceKind::kCpu, "cpu0"), gpu = d.add(DeviceKind::kGpu, "gpu0"),
             s = d.add(DeviceKind::kNvSwitch, "s");
  d.join(gpu, s, LinkKind::kNvlink, 900, 18);
  d.join(gpu, cpu, LinkKind::kC2c, 225);
  d.join(gpu, cpu, LinkKind::kPcie, 64, 16);
  const auto levels = machine_levels(d.seal());
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[0].name, "scale-up");
  EXPECT_EQ(levels[0].wire_GBps, 900) << "the link to the CPU is a level of its own";
  EXPECT_EQ(levels[1].name, "c2c");
  EXPECT_EQ(levels[1].ratio, 4);
  EXPECT_EQ(levels[2].ratio, 225.0 / 64);
}

}  // namespace
}  // namespace busbar::topology
