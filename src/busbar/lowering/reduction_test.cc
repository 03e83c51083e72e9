// Reduction in the network, limits of whole devices, and links that hold messages up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/lowering/adaptive.h"
#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/topology/selector.h"

namespace busbar::lowering {
namespace {

using testing::HasSubstr;

std::string refusal(const TestNetwork& m, const program::CollectiveCall& call) {
  return try_lower(m, call).error().message;
}

std::vector<double> bytes_of_links(const TestNetwork& m, const program::CollectiveCall& call) {
  Lowering lowering(m.router, m.placement, {});
  return bytes_of_links(lowering.capacities(), lowering.lower(call).value(), m.topology.link_count());
}

TEST(Sharp, OneSwitchTakesEachPayloadOnceInAndOnceOut) {
  topology::DeviceClass adds;
  adds.reduces = true;
  const TestNetwork m(single_gpu_nodes(8, 1, adds).seal());
  EXPECT_NEAR(lowered_ms(m, test_call(8, "sharp", kGiB)), 2 * kGiB / 50e9 * 1e3, 1e-6);
  const double piped = lowered_ms(m, test_call(8, "sharp", kGiB, 1000));
  EXPECT_NEAR(piped, kGiB / 50e9 * 1e3, 0.01 * piped);
}

TEST(Sharp, ALinkBetweenSwitchesCarriesOneSumHoweverManyRanksAreBelow) {
  const TestNetwork m(leaf_spine(8, 4, true).seal());
  const std::vector<double> bytes = bytes_of_links(m, test_call(32, "sharp", 1'000'000));
  double up = 0, down = 0;
  for (std::uint32_t l = 0; l < m.topology.link_count(); ++l) {
    const topology::DeviceKind a = m.topology.kind(m.topology.from(topology::LinkId{l})),
                               b = m.topology.kind(m.topology.to(topology::LinkId{l}));
    if (a == topology::DeviceKind::kLeaf && b == topology::DeviceKind::kSpine) up += bytes[l];
    if (a == topology::DeviceKind::kSpine && b == topology::DeviceKind::kLeaf) down += bytes[l];
    EXPECT_LE(bytes[l], 1'000'000.001) << m.topology.name(topology::LinkId{l});
  }
  EXPECT_NEAR(up, 8e6, 1e-3);
  EXPECT_NEAR(down, 8e6, 1e-3);
}

// With switches that reduce inside the node too, every NIC carries an eighth: S / 400 GB/s is the floor.
TEST(Sharp, NodesThatAddUpInsideSendAnEighthOverEachNic) {
  const TestNetwork m(pods_of_eight(16, true).seal());
  const std::vector<double> bytes = bytes_of_links(m, test_call(128, "sharp", kGiB, 512));
  for (const topology::LinkId l : topology::select_cables(m.topology, "leaf0").value())
    EXPECT_NEAR(bytes[index(l)], kGiB / 8.0, 1);
  const double ms = lowered_ms(m, test_call(128, "sharp", kGiB, 512));
  EXPECT_GT(ms, kGiB / 400e9 * 1e3);
  EXPECT_LT(ms, 1.2 * kGiB / 400e9 * 1e3);
  EXPECT_LT(ms, 0.7 * lowered_ms(m, test_call(128, "ring", kGiB)));
}

TEST(Sharp, KeepsToTheLimitsOfItsSwitches) {
  topology::DeviceClass adds;
  const TestNetwork plain(single_gpu_nodes(4, 1, adds).seal());
  EXPECT_THAT(refusal(plain, test_call(4, "sharp", 1024)), HasSubstr("can reduce"));
  adds.reduces = true;
  adds.reduce_message = Bytes{4096};
  adds.reduce_trees = 1;
  const TestNetwork m(single_gpu_nodes(4, 2, adds).seal());
  EXPECT_THAT(refusal(m, test_call(4, "sharp", 4097)), HasSubstr("up to 4096 bytes here, not 4097"));
  program::CollectiveCall call = test_call(4, "sharp", 4096);
  EXPECT_TRUE(try_lower(m, call).ok());
  call.channels = 2;
  EXPECT_THAT(refusal(m, call), HasSubstr("1 trees here, not 2"));
  adds.reduce_trees = 2;  // a tree over each of the two NICs
  adds.reduce_message = Bytes{0};
  const TestNetwork two(single_gpu_nodes(4, 2, adds).seal());
  EXPECT_NEAR(lowered_ms(two, test_call(4, "sharp", kGiB)), kGiB / 50e9 * 1e3, 1e-6);
}

// Three GPUs of a node add up inside and send a third each over their NICs: three trees, of which each meets in a spine
// of its own.
TEST(Sharp, TreesThatAreAsManyAsTheSpinesMeetInOneEach) {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < 3; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  node.devices.back().device_class.reduces = true;
  for (std::uint32_t g = 0; g < 3; ++g) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic" + std::to_string(g)));
    node.links.push_back({g, 3, topology::test_link(topology::LinkKind::kNvlink, 450, Duration())});
    node.links.push_back({g, 4 + g, topology::test_link(topology::LinkKind::kPcie, 1000, Duration())});
  }
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (int i = 0; i < 4; ++i) b.add_block(t);
  topology::DeviceClass leaf, spine;
  leaf.kind = topology::DeviceKind::kLeaf;
  spine.kind = topology::DeviceKind::kSpine;
  leaf.reduces = spine.reduces = true;
  const topology::DeviceId leaves[] = {b.add_switch(leaf, "leaf0"), b.add_switch(leaf, "leaf1")};
  const topology::LinkClass cable = topology::test_link(topology::LinkKind::kInfiniband, 50, Duration());
  for (std::uint32_t i = 0; i < 4; ++i)
    for (std::uint32_t g = 0; g < 3; ++g)
      b.connect(b.device(static_cast<topology::BlockId>(i), 4 + g), leaves[i / 2], cable);
  for (int i = 0; i < 3; ++i) {
    const topology::DeviceId top = b.add_switch(spine, "spine" + std::to_string(i));
    for (const topology::DeviceId l : leaves) b.connect(l, top, cable);
  }
  const TestNetwork m(std::move(b).seal());
  const std::vector<double> bytes = bytes_of_links(m, test_call(12, "sharp", 3'000'000));
  std::uint32_t cables = 0;
  for (std::uint32_t l = 0; l < m.topology.link_count(); ++l)
    if (between_switches(m.topology, topology::LinkId{l})) {
      EXPECT_NEAR(bytes[l], 1e6, 1e-3) << m.topology.name(topology::LinkId{l});
      ++cables;
    }
  EXPECT_EQ(cables, 12u) << "both ways of six";
}

// What a round put on the links is gone when the next begins, to the byte.
TEST(Nvls, OfFewBytesTakesAsLongAgain) {
  const TestNetwork m(pods_of_eight(1, true).seal());
  Lowering lowering(m.router, m.placement, {});
  const program::CollectiveCall call = test_call(8, "nvls", 16);
  const double first_ps = closed_form_ps(lowering.lower(call).value());
  EXPECT_EQ(closed_form_ps(lowering.lower(call).value()), first_ps);
}

// Of few bytes: up and down, each send over the network has its overhead, and each link its latency.
TEST(Sharp, TakesTheLatenciesOfTheLongestWayUpAndDown) {
  program::ProtocolModel p;
  p.step_network = Duration::us(3);
  p.step_switch = Duration::us(1);
  const auto us = [&](const topology::Topology& t) {
    const TestNetwork m(t);
    return 1e3 * lowered_ms(m, test_call(m.gpus(), "sharp", 8), p);
  };
  EXPECT_NEAR(us(leaf_spine(1, 1, true).seal()), 2 * (3 + 1), 1e-2) << "the leaf adds";
  EXPECT_NEAR(us(leaf_spine(3, 2, true).seal()), 2 * (3 + 1 + 1), 1e-2) << "a spine adds";
  // GPU to NVSwitch 0.5 us and its overhead; there and back to the GPU of the NIC 0.5 us; cable 2 us.
  EXPECT_NEAR(us(pods_of_eight(2, true).seal()), 2 * (1 + 0.5 + 0.5 + 3 + 2), 1e-2);
}

TEST(Sharp, AddersAreACapacityOfTheirOwn) {
  topology::DeviceClass adds;
  adds.reduces = true;
  adds.reduce_rate = BytesPerSecond{100'000'000'000};  // eight ports bring in 400 GB/s
  const TestNetwork m(single_gpu_nodes(8, 1, adds).seal());
  const double up = 8 * kGiB / 100e9 * 1e3, down = kGiB / 50e9 * 1e3;
  EXPECT_NEAR(lowered_ms(m, test_call(8, "sharp", kGiB)), up + down, 1e-6);
}

/// `gpus` GPUs below one CPU whose root complex passes 100 GB/s, each link 50 GB/s.
topology::TopologyBuilder one_root(std::uint32_t gpus) {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < gpus; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kCpu, "cpu0"));
  node.devices.back().device_class.transit_rate = BytesPerSecond{100'000'000'000};
  for (std::uint32_t g = 0; g < gpus; ++g)
    node.links.push_back({g, gpus, topology::test_link(topology::LinkKind::kPcie, 50, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return b;
}

TEST(Units, ARootComplexIsSharedByAllThatCrossesIt) {
  // 2(n-1)/n S per GPU: two GPUs bring 100 GB/s, eight would bring 400.
  EXPECT_NEAR(lowered_ms(TestNetwork(one_root(2).seal()), test_call(2, "ring", kGiB)), kGiB / 50e9 * 1e3, 1e-6);
  EXPECT_NEAR(lowered_ms(TestNetwork(one_root(8).seal()), test_call(8, "ring", kGiB)), 1.75 * kGiB / 12.5e9 * 1e3,
              1e-6);
  const TestNetwork m(one_root(8).seal());
  const topology::LinkId bound = bound_of(try_lower(m, test_call(8, "ring", kGiB)).value()).link;
  EXPECT_LT(index(bound), m.topology.link_count()) << "a bound is a link with a name";
}

// A ring waits for every hold-up on its way: R p d of them in expectation, though only one link of eight is shaky.
TEST(Delays, ARingWaitsForEveryHoldUpOfOneLink) {
  const TestNetwork m(one_switch(8).seal());
  const topology::LinkId shaky = topology::select_cables(m.topology, "node0.gpu3-nvswitch0").value()[0];
  for (const auto& [algorithm, sends] : {std::pair("ring", 14), {"halving_doubling", 6}}) {
    Lowering lowering(m.router, m.placement, {});
    lowering.set_delays(std::vector<LinkDelay>{{shaky, 0.01, Duration::us(50)}});
    const program::CollectiveCall call = test_call(8, algorithm, kGiB);
    const double extra_us = 1e-6 * closed_form_ps(lowering.lower(call).value()) - 1e3 * lowered_ms(m, call);
    EXPECT_NEAR(extra_us, sends * 0.5, 0.01) << algorithm;  // each waits 1 % x 50 us
  }
}

// Sends that know nothing of each other wait once each.
TEST(Delays, EachSendOfAnExchangeWaitsOnce) {
  const TestNetwork m(one_switch(8).seal());
  program::CollectiveCall call = test_call(8, "direct", 64);
  call.op = collectives::Collective::kAllToAll;
  const topology::LinkId shaky = topology::select_cables(m.topology, "node0.gpu3-nvswitch0").value()[0];
  Lowering lowering(m.router, m.placement, {});
  lowering.set_delays(std::vector<LinkDelay>{{shaky, 0.01, Duration::us(50)}});
  EXPECT_NEAR(1e-6 * closed_form_ps(lowering.lower(call).value()) - 1e3 * lowered_ms(m, call), 0.5, 0.01);
}

// A chain of four chunks over two links: each chunk waits for its own.
TEST(Delays, EveryChunkOfAPipelineWaits) {
  const TestNetwork m(one_switch(3).seal());
  program::CollectiveCall call = test_call(3, "ring", kGiB, 4);
  call.op = collectives::Collective::kBroadcast;
  Lowering lowering(m.router, m.placement, {});
  const topology::LinkId shaky = topology::select_cables(m.topology, "node0.gpu1-nvswitch0").value()[0];
  lowering.set_delays(std::vector<LinkDelay>{{shaky, 0.01, Duration::us(50)}});
  const double extra_us = 1e-6 * closed_form_ps(lowering.lower(call).value()) - 1e3 * lowered_ms(m, call);
  EXPECT_NEAR(extra_us, 4 * 0.5, 0.01);
}

}  // namespace
}  // namespace busbar::lowering
