#include "busbar/predict/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/spec/cluster.h"

namespace busbar::predict {
namespace {

using testing::HasSubstr;

TEST(Predictions, CountBusBandwidthAsNcclTestsDoes) {
  EXPECT_DOUBLE_EQ(bus_factor(collectives::Collective::kAllReduce, 8), 1.75);
  for (const collectives::Collective op :
       {collectives::Collective::kAllGather, collectives::Collective::kReduceScatter,
        collectives::Collective::kAllToAll, collectives::Collective::kGather, collectives::Collective::kScatter})
    EXPECT_DOUBLE_EQ(bus_factor(op, 8), 0.875);
  for (const collectives::Collective op :
       {collectives::Collective::kBroadcast, collectives::Collective::kReduce, collectives::Collective::kSendRecv})
    EXPECT_DOUBLE_EQ(bus_factor(op, 8), 1);
}

TEST(Predictions, BelowTheFloorAreABug) {
  const Duration floor = Duration::us(1);
  EXPECT_EQ(below_floor(floor, floor, "ring"), "");
  EXPECT_EQ(below_floor(floor - Duration::ps(4), floor, "ring"), "") << "round-off";
  EXPECT_EQ(below_floor(floor - Duration::ps(5), floor, "ring"),
            "ring: predicted 1.00 us is 5.00 ps below the physical floor; this is a bug of busbar, please report it");
  const Duration long_floor = Duration::us(1'000'000);  // 1e12 ps
  EXPECT_EQ(below_floor(long_floor - Duration::ps(1000), long_floor, "ring"), "") << "round-off of a double";
  EXPECT_NE(below_floor(long_floor - Duration::ps(1010), long_floor, "ring"), "");
}

TEST(Predictions, SayTheirRatesAndTheirGap) {
  Prediction p;
  p.call.bytes = Bytes{3'000'000};
  EXPECT_EQ(p.algbw(), 0);
  EXPECT_EQ(p.gap_percent(), 0);
  p.time = Duration::us(1500);
  EXPECT_DOUBLE_EQ(p.algbw(), 2);
  EXPECT_EQ(p.gap_percent(), 0);
  p.floor.time = Duration::us(1000);
  EXPECT_NEAR(p.gap_percent(), 50, 1e-9);
  EXPECT_EQ(p.protocol(), program::Protocol::kSimple);
  p.call.protocol = program::Protocol::kLl;
  p.call.algorithm = "tree";
  EXPECT_EQ(how_of(p), "tree, ll");
  EXPECT_STREQ(name_of(p.chosen_by), "given");
  EXPECT_STREQ(name_of(ChosenBy::kNccl), "nccl");
  EXPECT_STREQ(name_of(ChosenBy::kFastest), "fastest");
}

TEST(Predictions, NameTheirLimit) {
  const spec::Cluster c = spec::load_cluster("dgx-h100").value();
  Prediction p;
  EXPECT_EQ(limit_of(p, c.topology), "");
  p.bound.link = c.topology.out_links(c.topology.gpus()[0])[0];
  const topology::LinkClass& link = c.topology.link_class(p.bound.link);
  const std::string name = link.part.empty() ? topology::name_of(link.kind) : link.part;
  EXPECT_EQ(limit_of(p, c.topology), "bandwidth of " + name);
  p.bound.kind = lowering::BoundKind::kLatency;
  EXPECT_EQ(limit_of(p, c.topology), "latency of " + name);
  p.cause = "no NIC near";
  EXPECT_EQ(limit_of(p, c.topology), "no NIC near");
}

}  // namespace
}  // namespace busbar::predict
