#include "busbar/packet/background.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

const SizeDistribution kSizes{{{1, 0}, {1000, 0.5}, {3000, 1}}};

TEST(Background, SizesFollowTheirShares) {
  EXPECT_DOUBLE_EQ(kSizes.mean_bytes(), 0.5 * 500.5 + 0.5 * 2000);
  EXPECT_EQ(count(kSizes.at(0)), 1u);
  EXPECT_EQ(count(kSizes.at(0.5)), 1000u);
  EXPECT_EQ(count(kSizes.at(0.75)), 2000u);
  EXPECT_EQ(count(kSizes.at(1)), 3000u);
}

/// Load, spread of starts, and pairs are within four standard deviations of the request.
TEST(Background, LoadsEveryCableAsAskedAndMeetsEveryPair) {
  const LeafSpine n(2, 4, 2);
  program::FlowList list;
  const SimTime until = SimTime::at(Duration::us(2000));
  ASSERT_TRUE(add_background({kSizes, 0.4, until, 3}, n.router, list).ok());
  const double expected = 8 * 0.4 * 50e9 * 2e-3 / kSizes.mean_bytes();
  const auto flows = static_cast<double>(list.flows.size());
  EXPECT_NEAR(flows, expected, 4 * std::sqrt(expected));
  double bytes = 0, starts = 0;
  std::set<std::pair<topology::DeviceId, topology::DeviceId>> pairs;
  for (const program::ListedFlow& f : list.flows) {
    bytes += static_cast<double>(count(f.bytes));
    starts += f.start.since_start().in_us();
    EXPECT_NE(f.from, f.to);
    EXPECT_LE(f.start, until);
    pairs.emplace(f.from, f.to);
  }
  EXPECT_EQ(pairs.size(), 8u * 7);
  EXPECT_NEAR(bytes / flows, kSizes.mean_bytes(), 4 * 850 / std::sqrt(flows));
  EXPECT_NEAR(starts / flows, 1000, 4 * 2000 / std::sqrt(12 * flows));
  EXPECT_TRUE(std::is_sorted(list.flows.begin(), list.flows.end(),
                             [](const auto& a, const auto& b) { return a.start < b.start; }));
}

/// Background flows do not count among the list's own flows, and slow them down.
TEST(Background, SlowsDownListedFlows) {
  LeafSpine n(2, 4, 1);
  for (std::uint32_t h = 0; h < 4; ++h) n.add(h, 4 + h, 1'000'000);
  PacketOptions o{PacketTransport::kDcqcn, PacketBalance::kEcmp, 1};
  const PacketResult alone = n.run(o);
  o.background = {kSizes, 0.3, SimTime::at(Duration::us(500)), 1};
  const PacketResult beside = n.run(o);
  EXPECT_EQ(alone.background, 0u);
  EXPECT_EQ(beside.background + 4, beside.flows.size());
  EXPECT_GT(beside.background, 1000u);
  EXPECT_EQ(beside.done, beside.flows.size());
  for (std::size_t f = 0; f < 4; ++f) EXPECT_GT(beside.flows[f].fct, alone.flows[f].fct);
}

}  // namespace
}  // namespace busbar::packet
