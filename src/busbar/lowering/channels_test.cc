#include "busbar/lowering/channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "busbar/collectives/builders.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/random_cluster.h"
#include "busbar/lowering/test_network.h"

namespace busbar::lowering {
namespace {

std::vector<std::uint32_t> starts_of(std::vector<std::uint32_t> extents, std::vector<double> rates) {
  return torus_starts(extents, rates);
}

TEST(TorusStarts, EachDimensionOnceWhereAllAreAlike) {
  EXPECT_TRUE(starts_of({4, 4, 4}, {1, 1, 1}).empty());
  EXPECT_TRUE(starts_of({16, 16}, {1, 1}).empty());
  EXPECT_TRUE(starts_of({8}, {1}).empty());
}

// 4 x 4 x 4 with the third dimension at half the rate: of (x, y, z) three, two and one channels of six. Loads of the
// first, second and third dimension of a channel are 3/4, 3/16 and 3/64 of its bytes: z carries (1 x 3/4 + 2 x 3/16 +
// 3 x 3/64) / 6 of the buffer, where each dimension once gives it (3/4 + 3/16 + 3/64) / 3.
TEST(TorusStarts, ASlowDimensionIsTheFirstOfFewChannels) {
  const auto starts = starts_of({4, 4, 4}, {1, 1, 0.5});
  EXPECT_EQ(std::count(starts.begin(), starts.end(), 0), 3);
  EXPECT_EQ(std::count(starts.begin(), starts.end(), 1), 2);
  EXPECT_EQ(std::count(starts.begin(), starts.end(), 2), 1);
}

// Each channel goes around all members, server by server, and enters the server with the fewest NICs by one of its own.
TEST(RingOrders, EnterTheScarcestServerByDifferentNics) {
  RandomStream random(11, "orders");
  std::uint32_t several = 0, pairs = 0;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const topology::NodeTemplate node = random_server(random);
    const TestNetwork m(
        std::move(random_cluster(random, node, 2 + static_cast<std::uint32_t>(random.below(3)))).seal());
    const std::uint32_t n = m.gpus(), blocks = static_cast<std::uint32_t>(m.topology.blocks().size());
    const program::CollectiveCall call = test_call(n, "ring", kGiB);
    const std::uint32_t per_domain = ranks_per_domain(call, m.topology, m.placement);
    const auto most = static_cast<std::uint32_t>(random.below(4));
    const auto orders = ring_orders(call, m.topology, m.placement, per_domain, most);
    std::uint32_t fewest = UINT32_MAX;
    std::vector<std::uint32_t> scarce;
    for (std::uint32_t first = 0; first < n; first += per_domain) {
      std::set<topology::DeviceId> nics;
      for (std::uint32_t r = first; r < first + per_domain; ++r)
        for (std::uint32_t c = 0; c < m.placement.nic_channels(); ++c) nics.insert(m.placement.nic(r, c));
      if (nics.size() < fewest) fewest = static_cast<std::uint32_t>(nics.size()), scarce.clear();
      if (nics.size() == fewest) scarce.push_back(first);
    }
    if (most > 0) fewest = std::min(fewest, most);
    EXPECT_LE(orders.size(), std::max(fewest, 1u));
    EXPECT_NE(orders.size(), 1u) << "one channel needs no order";
    if (blocks < 2 || per_domain < 2) EXPECT_TRUE(orders.empty());
    for (const auto& order : orders) {
      ASSERT_EQ(std::set(order.begin(), order.end()).size(), n);
      for (std::uint32_t p = 0; p < n; ++p) EXPECT_EQ(order[p] / per_domain, p / per_domain);
    }
    if (orders.empty()) continue;
    ++several;
    pairs += per_domain == 2;
    std::set<topology::DeviceId> entered;
    for (std::uint32_t c = 0; c < orders.size(); ++c) entered.insert(m.placement.nic(orders[c][scarce[0]], c));
    EXPECT_EQ(entered.size(), orders.size());
  }
  EXPECT_GT(several, 60u);
  EXPECT_GT(pairs, 5u);
}

/// Orders of two servers of four GPUs, GPU g behind PCIe switch `pcie[g]` of two with a NIC each.
std::vector<std::vector<std::uint32_t>> orders_behind(std::array<std::uint32_t, 4> pcie) {
  topology::NodeTemplate node;
  for (int g = 0; g < 4; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  for (int k = 0; k < 2; ++k)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kPcieSwitch, "pcie" + std::to_string(k)));
  for (int k = 0; k < 2; ++k)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic" + std::to_string(k)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  node.links.push_back({4, 5, topology::test_link(topology::LinkKind::kPcie, 64)});
  for (std::uint32_t k = 0; k < 2; ++k)
    node.links.push_back({4 + k, 6 + k, topology::test_link(topology::LinkKind::kPcie, 64)});
  for (std::uint32_t g = 0; g < 4; ++g) {
    node.links.push_back({g, 4 + pcie[g], topology::test_link(topology::LinkKind::kPcie, 64)});
    node.links.push_back({g, 8, topology::test_link(topology::LinkKind::kNvlink, 450)});
  }
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::BlockId first = b.add_block(t), second = b.add_block(t);
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (const topology::BlockId block : {first, second})
    for (const std::uint32_t nic : {6u, 7u})
      b.connect(b.device(block, nic), hub, topology::test_link(topology::LinkKind::kInfiniband, 50));
  const TestNetwork m(std::move(b).seal());
  return ring_orders(test_call(8, "ring", kGiB), m.topology, m.placement, 4, 0);
}

// A channel leaves a server by the NIC that it enters by: its last member is one that shares the NIC of the first.
TEST(RingOrders, GoDownwardsWhereOnlyTheMemberAboveSharesTheNic) {
  using Orders = std::vector<std::vector<std::uint32_t>>;
  EXPECT_EQ(orders_behind({0, 0, 1, 1}), (Orders{{0, 3, 2, 1, 4, 7, 6, 5}, {2, 1, 0, 3, 6, 5, 4, 7}}));
  EXPECT_EQ(orders_behind({0, 0, 1, 0}), (Orders{{0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}}));
}

program::CollectiveCall over(std::vector<std::uint32_t> ranks, std::uint32_t groups = 1) {
  program::CollectiveCall call = test_call(static_cast<std::uint32_t>(ranks.size()) / groups, "ring", kGiB);
  call.groups = {};
  call.groups.listed = std::move(ranks);
  call.groups.listed_groups = groups;
  return call;
}

TEST(RanksPerDomain, AreThoseOfOneServerInARowInEveryGroup) {
  const TestNetwork m(std::move(pods_of_eight(3)).seal());
  const auto of = [&](const program::CollectiveCall& call) { return ranks_per_domain(call, m.topology, m.placement); };
  EXPECT_EQ(of(over({0, 1, 8, 9, 16, 17})), 2u);
  EXPECT_EQ(of(over({0, 1, 2})), 3u);
  EXPECT_EQ(of(over({0, 8, 16})), 1u);
  EXPECT_EQ(of(over({0, 1, 8, 16})), 1u) << "the second server has one";
  EXPECT_EQ(of(over({0, 1, 8, 9, 16})), 1u) << "the last server has one";
  EXPECT_EQ(of(over({0, 1, 2, 3, 8, 9}, 3)), 2u);
  EXPECT_EQ(of(over({0, 1, 8, 9, 8, 9, 16, 17}, 2)), 2u);
  EXPECT_EQ(of(over({0, 1, 8, 9, 0, 8, 1, 9}, 2)), 1u) << "the second group takes turns";
  EXPECT_EQ(of(over({0, 1, 8, 9, 0, 1, 2, 3}, 2)), 1u) << "the second group is in one server";
}

TEST(LoweredCalls, OfRanksWithoutAGpuAreRefused) {
  const TestNetwork m(std::move(one_switch(4)).seal());
  Lowering lowering(m.router, m.placement, {});
  EXPECT_TRUE(lowering.lower(over({0, 3})).ok());
  EXPECT_EQ(lowering.lower(over({0, 4})).error().message, "rank 4 has no GPU: only 4 are placed");
  EXPECT_EQ(lowering.lower(over({4, 0})).error().message, "rank 4 has no GPU: only 4 are placed");
  EXPECT_FALSE(lowering.lower(over({0, 1, 2, 4}, 2)).ok());
}

TEST(PipelineChunks, HaveTheBytesOfTheProtocolAndAreNotTooMany) {
  const collectives::Schedule s =
      collectives::build_schedule("tree", collectives::Collective::kAllReduce, 8, 1, 0).value();
  program::ProtocolModel p;
  program::CollectiveCall call = test_call(8, "tree", kGiB, 0);
  EXPECT_EQ(pipeline_chunks(call, s, p, 4), 1u) << "pieces have no size";
  p.chunk = Bytes{1 << 20};
  EXPECT_EQ(pipeline_chunks(call, s, p, 4), 256u);
  EXPECT_EQ(pipeline_chunks(test_call(8, "tree", 4, 0), s, p, 4), 1u);
  EXPECT_EQ(pipeline_chunks(test_call(8, "tree", 64 * kGiB, 0), s, p, 4), 4096u);
  EXPECT_EQ(pipeline_chunks(test_call(8, "tree", kGiB, 3), s, p, 4), 3u);
}

/// 4 x 4 chips with links of 50 GB/s along the first dimension and `second` GB/s along the other, in rings or not.
topology::Topology chips(std::uint64_t second, bool first_wraps, bool second_wraps) {
  topology::NodeTemplate node;
  for (int g = 0; g < 16; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "chip" + std::to_string(g)));
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t x = i % 4, y = i / 4;
    if (first_wraps || x < 3)
      node.links.push_back({i, i - x + (x + 1) % 4, topology::test_link(topology::LinkKind::kIci, 50)});
    if (second_wraps || y < 3)
      node.links.push_back({i, (i + 4) % 16, topology::test_link(topology::LinkKind::kIci, second)});
  }
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return std::move(b).seal();
}

/// Whether the channels of a torus call over all GPUs start with the dimensions that these rates ask for.
void expect_starts(const topology::Topology& t, std::vector<std::uint32_t> extents, std::vector<double> rates) {
  const TestNetwork m(t);
  const program::CollectiveCall call = test_call(m.gpus(), "torus", kGiB);
  const auto built = build_for_call(call, m.topology, m.placement, m.gpus(), 0);
  ASSERT_TRUE(built.ok()) << built.error().message;
  collectives::ScheduleSpec spec;
  spec.algorithm = "torus";
  spec.op = call.op;
  spec.ranks = m.gpus();
  spec.dimensions = extents;
  spec.starts = starts_of(extents, rates);
  const collectives::Schedule expected = collectives::build_schedule(spec).value();
  EXPECT_EQ(built->channels, expected.channels);
  EXPECT_EQ(built->families, expected.families);
  ASSERT_EQ(built->phases.size(), expected.phases.size());
  for (std::size_t p = 0; p < expected.phases.size(); ++p)
    EXPECT_EQ(built->phases[p].family, expected.phases[p].family) << p;
}

// Where both dimensions are rings, or neither is, only the ratio of their rates says with which one a channel starts.
TEST(TorusStarts, FollowFromTheLinksOfTheMachine) {
  for (const std::uint64_t second : {50u, 25u, 10u})
    for (const bool wraps : {true, false})
      expect_starts(chips(second, wraps, wraps), {4, 4}, {50, static_cast<double>(second)});
  EXPECT_TRUE(starts_of({4, 4}, {50, 50}).empty());
  EXPECT_FALSE(starts_of({4, 4}, {50, 25}).empty());
}

TEST(TorusStarts, CountARowThatNoLinkClosesHalf) {
  expect_starts(chips(50, false, true), {4, 4}, {25, 50});
  expect_starts(chips(50, true, false), {4, 4}, {50, 25});
}

// Two GPUs side by side send each other both directions of a ring over one link: half of its rate for each, as for the
// ends of a row that no link joins.
TEST(TorusStarts, CountALinkBetweenTwoChipsHalf) {
  topology::NodeTemplate node;
  for (int g = 0; g < 8; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "chip" + std::to_string(g)));
  for (std::uint32_t i = 0; i < 8; ++i) {
    if (i % 2 == 0) node.links.push_back({i, i + 1, topology::test_link(topology::LinkKind::kIci, 50)});
    node.links.push_back({i, (i + 2) % 8, topology::test_link(topology::LinkKind::kIci, 50)});
  }
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  expect_starts(std::move(b).seal(), {2, 4}, {25, 50});
  EXPECT_NE(starts_of({2, 4}, {25, 50}), starts_of({2, 4}, {50, 50}));
}

TEST(TorusStarts, AreLeftAloneWhereADimensionHasNoLinks) { EXPECT_TRUE(starts_of({4, 4}, {1, 0}).empty()); }

// Two servers of two chips side by side: no link joins the servers.
TEST(TorusDimensions, AreThoseOfAServerOfTwo) {
  topology::NodeTemplate node;
  for (int g = 0; g < 2; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "chip" + std::to_string(g)));
  node.links.push_back({0, 1, topology::test_link(topology::LinkKind::kIci, 50)});
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  b.add_block(t);
  b.add_block(t);
  const TestNetwork m(std::move(b).seal());
  const std::vector<std::uint32_t> pair{2};
  EXPECT_EQ(torus_dimensions(test_call(4, "torus", kGiB), m.topology, m.placement), pair);
  EXPECT_EQ(torus_dimensions(test_call(2, "torus", kGiB), m.topology, m.placement), pair);
}

}  // namespace
}  // namespace busbar::lowering
