#include "busbar/predict/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/spec/cluster.h"

namespace busbar {
namespace {

using testing::HasSubstr;

TEST(Predictions, CountBusBandwidthAsNcclTestsDoes) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllReduce, 8), 1.75);
  for (const Collective op : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
                              Collective::kGather, Collective::kScatter})
    EXPECT_DOUBLE_EQ(bus_factor(op, 8), 0.875);
  for (const Collective op : {Collective::kBroadcast, Collective::kReduce, Collective::kSendRecv})
    EXPECT_DOUBLE_EQ(bus_factor(op, 8), 1);
}

TEST(Predictions, BelowTheFloorAreABug) {
  const Duration floor = Duration::us(1000);  // 1e9 ps
  EXPECT_TRUE(check_floor(floor, floor, "ring").ok());
  EXPECT_TRUE(check_floor(floor - Duration::ps(1), floor, "ring").ok()) << "round-off";
  const Status below = check_floor(floor - Duration::ps(2), floor, "ring");
  ASSERT_FALSE(below.ok());
  EXPECT_THAT(below.error().text(), HasSubstr("ring: predicted"));
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
  EXPECT_EQ(p.protocol(), Protocol::kSimple);
  p.call.protocol = Protocol::kLl;
  p.call.algorithm = "tree";
  EXPECT_EQ(how_of(p), "tree, ll");
  EXPECT_STREQ(name_of(p.chosen_by), "given");
  EXPECT_STREQ(name_of(ChosenBy::kNccl), "nccl");
  EXPECT_STREQ(name_of(ChosenBy::kFastest), "fastest");
}

TEST(Predictions, NameTheirLimit) {
  const Cluster c = load_cluster("dgx-h100").value();
  Prediction p;
  EXPECT_EQ(limit_of(p, c.topology), "");
  p.bound.link = c.topology.out_links(c.topology.gpus()[0])[0];
  const LinkClass& link = c.topology.link_class(p.bound.link);
  const std::string name = link.part.empty() ? name_of(link.kind) : link.part;
  EXPECT_EQ(limit_of(p, c.topology), "bandwidth of " + name);
  p.bound.kind = BoundKind::kLatency;
  EXPECT_EQ(limit_of(p, c.topology), "latency of " + name);
  p.cause = "no NIC near";
  EXPECT_EQ(limit_of(p, c.topology), "no NIC near");
}

}  // namespace
}  // namespace busbar
