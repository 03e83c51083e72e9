#include "busbar/lowering/internal/lanes.h"

#include <gtest/gtest.h>

#include <set>

#include "busbar/collectives/builders.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

/// Sixteen nodes of one GPU and eight NICs.
class ChannelLanes : public ::testing::Test {
 protected:
  Lanes lanes(const program::CollectiveCall& call, const program::ProtocolModel& protocol = {}) const {
    const collectives::Schedule s =
        call.schedule ? *call.schedule
                      : collectives::build_schedule(call.algorithm, call.op, call.groups.size(), 1, 0).value();
    return lanes_of(call, s, 1, ground_.placement, protocol);
  }
  /// NICs of all lanes of all channels of the schedule.
  static std::set<std::uint32_t> nics(const Lanes& l) {
    std::set<std::uint32_t> out;
    for (std::uint32_t c = 0; c < l.channels; ++c)
      for (std::uint32_t lane = 0; lane < l.count; ++lane) out.insert(l.nic(c, lane));
    return out;
  }
  TestNetwork ground_{std::move(single_gpu_nodes(16, 8)).seal()};
};

TEST_F(ChannelLanes, UseEveryNicOfACallOverNodes) {
  for (const char* algorithm : {"ring", "tree"}) {
    const Lanes l = lanes(test_call(16, algorithm, kGiB));
    EXPECT_EQ(l.count * l.channels, l.per_order * 8) << algorithm;
    EXPECT_EQ(nics(l).size(), 8u) << algorithm;
    EXPECT_EQ(l.cap, 0) << "only links limit it";
  }
}

TEST_F(ChannelLanes, AreOneInsideANode) {
  const program::CollectiveCall call = test_call(16, "ring", kGiB);
  const collectives::Schedule s = collectives::build_schedule("ring", call.op, 16, 16, 0).value();
  EXPECT_EQ(lanes_of(call, s, 16, ground_.placement, {}).count, 1u);
}

TEST_F(ChannelLanes, AreAsManyAsTheCallAsksForAndMoveNoMoreThanTheirRates) {
  program::ProtocolModel p;
  p.channel_rate = BytesPerSecond{20'000'000'000};
  for (const std::uint32_t channels : {1u, 4u}) {
    program::CollectiveCall call = test_call(16, "ring", kGiB);
    call.channels = channels;
    const Lanes l = lanes(call, p);
    EXPECT_EQ(l.count, channels);
    EXPECT_EQ(nics(l).size(), channels);
    EXPECT_NEAR(l.cap, channels * 0.02, 1e-12) << "bytes per ps";
  }
}

TEST_F(ChannelLanes, OfAScheduleThatIsGivenTakeTheNicsInTurn) {
  program::CollectiveCall call = test_call(16, "ring", kGiB);
  call.schedule =
      std::make_shared<const collectives::Schedule>(collectives::build_schedule("ring", call.op, 16, 1, 0).value());
  const Lanes l = lanes(call);
  EXPECT_EQ(l.stride, 1u);
  EXPECT_EQ(l.nic(0, 3), 3u);
  EXPECT_EQ(nics(l).size(), 8u);
  call.channels = 1;
  EXPECT_EQ(lanes(call).stride, 0u);
}

// Each of 64 NICs gets 4,096 bytes: from there on all channels that the protocol has are in use.
TEST(MostChannels, AreAllOfTheProtocolOnceEveryNicIsFilled) {
  const TestNetwork m(std::move(single_gpu_nodes(2, kFilledChannels)).seal());
  program::ProtocolModel p;
  p.max_channels = 128;
  EXPECT_EQ(most_channels(test_call(2, "ring", 64 * 4096), m.placement, p), 128u);
  EXPECT_EQ(most_channels(test_call(2, "ring", 64 * 4096 - 1), m.placement, p), 63u);
}

TEST_F(ChannelLanes, OfSmallCallsAreFewerAndNeverMoreThanTheProtocolHas) {
  EXPECT_EQ(lanes(test_call(16, "ring", 4)).count, 1u);
  EXPECT_EQ(lanes(test_call(16, "ring", 3 * 4096)).count, 3u);
  program::ProtocolModel p;
  p.max_channels = 2;
  EXPECT_EQ(lanes(test_call(16, "ring", kGiB), p).count, 2u);
  EXPECT_EQ(lanes(test_call(16, "ring", 4), p).count, 1u);
}

// Of two GPUs one is near three NICs and the other near one; two orders enter by a NIC each.
TEST(PlannedLanes, AreOnePerOrder) {
  topology::NodeTemplate node;
  for (int g = 0; g < 2; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  for (int n = 0; n < 4; ++n)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic" + std::to_string(n)));
  node.links.push_back({0, 1, topology::test_link(topology::LinkKind::kNvlink, 450)});
  for (std::uint32_t n = 0; n < 4; ++n)
    node.links.push_back({n / 3, 2 + n, topology::test_link(topology::LinkKind::kPcie, 64)});
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::BlockId first = b.add_block(t), second = b.add_block(t);
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (const topology::BlockId block : {first, second})
    for (std::uint32_t n = 0; n < 4; ++n)
      b.connect(b.device(block, 2 + n), hub, topology::test_link(topology::LinkKind::kInfiniband, 50));
  const TestNetwork m(std::move(b).seal());
  const program::CollectiveCall call = test_call(4, "ring", kGiB);
  const collectives::Schedule s = build_for_call(call, m.topology, m.placement, 2, 2).value();
  const Lanes l = lanes_of(call, s, 2, m.placement, {});
  EXPECT_EQ(m.placement.nic_channels(), 3u);
  EXPECT_EQ(l.channels, 2u);
  EXPECT_EQ(l.count, 1u);
}

}  // namespace
}  // namespace busbar::lowering
