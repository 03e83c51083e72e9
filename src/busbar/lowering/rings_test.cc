// Rings of one step that send at the same time: docs/models/flow.md, "Rings of several channels".
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/collectives/builders.h"
#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

/// An all-reduce over rings that go around in these orders.
program::CollectiveCall over_rings(std::vector<std::vector<std::uint32_t>> orders, std::uint64_t bytes) {
  program::CollectiveCall call = test_call(static_cast<std::uint32_t>(orders[0].size()), "ring", bytes);
  collectives::ScheduleSpec spec;
  spec.algorithm = call.algorithm;
  spec.op = call.op;
  spec.ranks = call.groups.size();
  spec.orders = std::move(orders);
  call.schedule = std::make_shared<const collectives::Schedule>(collectives::build_schedule(spec).value());
  return call;
}

/// one_switch(8), with one microsecond more on the way to and from GPU 5.
topology::Topology one_far_gpu() {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < 8; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  for (std::uint32_t g = 0; g < 8; ++g)
    node.links.push_back(
        {g, 8, topology::test_link(topology::LinkKind::kNvlink, 450, Duration::ns(g == 5 ? 1500 : 500))});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return std::move(b).seal();
}

const std::vector<std::vector<std::uint32_t>> kFourWays{
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 3, 6, 1, 4, 7, 2, 5}, {0, 7, 6, 5, 4, 3, 2, 1}, {0, 5, 2, 7, 4, 1, 6, 3}};

// Every GPU sends S/8 in each of 14 rounds, in four pieces. Edges have 1 us of latency; of the eight of a ring, two go
// to or from GPU 5 and have 2 us. A round takes the bytes over the link and the latency of a quick edge, less twice the
// mean extra latency of all: 1 - 2 x 2/8 us.
TEST(RingsThatShareLinks, TakeByLawRoundsOfFullLinks) {
  const double bytes_us = kGiB / 8.0 / 450e9 * 1e6;
  const auto expect = [&](topology::Topology t, double latency_us) {
    const TestNetwork m(std::move(t));
    const program::CollectiveCall call = over_rings(kFourWays, kGiB);
    Lowering lowering(m.router, m.placement, {});
    lowering.follow_rings(false);
    const double ps = closed_form_ps(lowering.lower(call).value());
    EXPECT_NEAR(1e-6 * ps, 14 * (latency_us + bytes_us), 1e-3);
    const std::vector<ChainPart> parts = lowering.explain(call).value();
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_NEAR(1e-6 * parts[0].ps, 14 * latency_us, 1e-3);
    EXPECT_NEAR(1e-6 * parts[1].ps, 14 * bytes_us, 1e-3);
    for (const ChainPart& part : parts) EXPECT_EQ(part.rounds, 14u);
  };
  expect(std::move(one_switch(8)).seal(), 1);
  expect(one_far_gpu(), 0.5);
}

// Small pieces fill no link: the last one has been all around, behind at most one other on each of the links.
TEST(RingsThatShareLinks, TakeByLawTheSumOfLatenciesForFewBytes) {
  const TestNetwork m(one_far_gpu());
  Lowering lowering(m.router, m.placement, {});
  lowering.follow_rings(false);
  const program::CollectiveCall call = over_rings(kFourWays, 800);
  // 14 edges in a row, of which the most of 2 us: five turns of eight have two each, so 14 have four.
  EXPECT_NEAR(1e-6 * closed_form_ps(lowering.lower(call).value()), 10 + 4 * 2, 0.02);
}

// What is kept of rings that were followed holds for equal ones alone: GPU 5 is farther than the first four.
TEST(RingsThatShareLinks, TakeAsLongAfterOthersAsAtFirst) {
  const TestNetwork m(one_far_gpu());
  Lowering kept(m.router, m.placement, {});
  std::vector<double> times;
  for (const std::uint64_t bytes : {kGiB, kGiB / 64, kGiB})
    for (const std::uint32_t first : {0u, 4u}) {
      program::CollectiveCall call = over_rings({{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 2, 1}}, bytes);
      call.groups = collectives::GroupFamily();
      call.groups.listed = {first, first + 1, first + 2, first + 3};
      call.groups.listed_groups = 1;
      Lowering fresh(m.router, m.placement, {});
      times.push_back(closed_form_ps(fresh.lower(call).value()));
      EXPECT_EQ(closed_form_ps(kept.lower(call).value()), times.back()) << bytes << " from " << first;
    }
  EXPECT_LT(times[0], times[1]);
}

// Four rings over 45 ranks have 4 x 45 x 88 sends, below 16,384.
TEST(RingsThatShareLinks, OfMoreSendsThanAreFollowedSayThatALawCountsThem) {
  for (const auto& [n, law] : {std::pair(45u, false), {47u, true}}) {
    const TestNetwork m(std::move(one_switch(n)).seal());
    std::vector<std::vector<std::uint32_t>> orders;
    for (const std::uint32_t stride : {1u, 2u, 4u, 7u})
      for (std::uint32_t i = 0, at = (orders.emplace_back(), 0); i < n; ++i, at = (at + stride) % n)
        orders.back().push_back(at);
    const program::CollectiveCall call = over_rings(std::move(orders), kGiB);
    EXPECT_EQ(try_lower(m, call)->stages.at(0).simplified.has(Simplification::kRingsByLaw), law) << n;
    Lowering lowering(m.router, m.placement, {});
    lowering.follow_rings(false);
    EXPECT_FALSE(lowering.lower(call)->stages.at(0).simplified.has(Simplification::kRingsByLaw)) << "as asked";
  }
}

// Rings that send the same way are followed as one, and count for the others as often as there are. All rings share the
// links of all GPUs here, whatever their order.
TEST(RingsThatShareLinks, WeighAsManyAsAreEqual) {
  const TestNetwork m(std::move(one_switch(8)).seal());
  const auto &a = kFourWays[0], &b = kFourWays[1];
  for (const std::uint64_t bytes : {kGiB / 1024, kGiB / 64, kGiB / 16}) {
    const auto us = [&](std::vector<std::vector<std::uint32_t>> orders) {
      return 1e-6 * closed_form_ps(try_lower(m, over_rings(std::move(orders), bytes)).value());
    };
    const double unequal = us(kFourWays);
    EXPECT_NEAR(us({a, a, a, b}), unequal, 1e-3 * unequal) << bytes;
  }
}

// Rings of equal order share the links of their GPUs with others that take longer.
TEST(RingsThatShareLinks, OfEqualOrderTakeEquallyLongWhateverTheirPlaces) {
  const TestNetwork m(std::move(pods_of_eight(2)).seal());
  std::vector<std::uint32_t> a, other;  // from node to node twice, and sixteen times
  for (std::uint32_t i = 0; i < 16; ++i) a.push_back(i), other.push_back(i / 2 + 8 * (i % 2));
  const auto alone = [&](std::vector<std::vector<std::uint32_t>> orders) {
    std::vector<double> out;
    const LoweredCall lowered = try_lower(m, over_rings(std::move(orders), kGiB / 1024)).value();
    EXPECT_EQ(lowered.stages.size(), 1u);
    for (const Fluid& f : lowered.stages[0].fluids) out.push_back(f.alone_ps);
    return out;
  };
  const std::vector<double> in_turn = alone({a, other, a, other}), grouped = alone({a, a, other, other});
  ASSERT_EQ(in_turn.size(), 4u);
  EXPECT_EQ(in_turn[0], in_turn[2]);
  EXPECT_EQ(in_turn[1], in_turn[3]);
  EXPECT_NE(in_turn[0], in_turn[1]);
  EXPECT_NEAR(grouped[0], in_turn[0], 2);
  EXPECT_NEAR(grouped[3], in_turn[3], 2);
}

// All of the first ring's links lead to other GPUs than those of the second.
TEST(RingsThatShareLinks, AreAsQuickAsAloneWhereTheyShareNone) {
  const TestNetwork m(std::move(pods_of_eight(2)).seal());
  program::CollectiveCall call = test_call(8, "ring", kGiB);
  const double alone = lowered_ms(m, call);
  call.groups.outer = {{2, 8, 0}};
  ASSERT_EQ(call.groups.groups(), 2u);
  EXPECT_EQ(lowered_ms(m, call), alone);
}

// Of each 8 bytes on the wire 4 are flags, so all links carry twice the payload.
TEST(RingsThatShareLinks, CarryTheFlagsOfTheirProtocol) {
  const TestNetwork m(one_far_gpu());
  program::ProtocolModel p;
  p.ll = {.available = true, .step_scale_up = {}, .step_server = {}, .step_network = {}, .efficiency = 0.5};
  for (const std::uint64_t bytes : {kGiB, kGiB / 64, kGiB / 1024}) {
    program::CollectiveCall call = over_rings(kFourWays, bytes);
    const double twice = lowered_ms(m, over_rings(kFourWays, 2 * bytes), p);
    call.protocol = program::Protocol::kLl;
    EXPECT_NEAR(lowered_ms(m, call, p), twice, 1e-6) << bytes;
  }
}

}  // namespace
}  // namespace busbar::lowering
