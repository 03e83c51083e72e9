#include "busbar/predict/jitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/spec/cluster.h"

namespace busbar::predict {
namespace {

using testing::HasSubstr;

TEST(Jitter, HoldsUpBothWaysOfEachCableNamed) {
  const spec::Cluster c = spec::load_cluster("dgx-h100:2").value();
  const auto one = parse_jitter({"node1.nic3=2.5%x50us"}, c.topology).value();
  ASSERT_EQ(one.size(), 4u);  // the cable and the slot
  for (const std::size_t i : {0, 2}) EXPECT_EQ(one[i + 1].link, topology::reverse(one[i].link));
  EXPECT_NE(one[0].link, one[2].link);
  for (const lowering::LinkDelay& d : one) {
    EXPECT_EQ(d.probability, 0.025);
    EXPECT_EQ(d.delay, Duration::us(50));
  }
  EXPECT_EQ(parse_jitter({"node1.nic3=1%x1us", "node0.nic*=100%x2us"}, c.topology)->size(), 4u + 32u);
  EXPECT_TRUE(parse_jitter({}, c.topology)->empty());
}

TEST(Jitter, RefusesInvalidSharesAndDelays) {
  const spec::Cluster c = spec::load_cluster("dgx-h100:2").value();
  const auto refused = [&](const char* text) { return parse_jitter({text}, c.topology).error().text(); };
  for (const char* text : {"node1.nic3", "node1.nic3=1%", "1%x50us", "node1.nic3=5x50us"})
    EXPECT_THAT(refused(text), HasSubstr("are missing")) << text;
  for (const char* text : {"node1.nic3=0%x1us", "node1.nic3=101%x1us", "node1.nic3=-1%x1us", "node1.nic3=1 %x1us"})
    EXPECT_THAT(refused(text), HasSubstr("above 0 and at most 100")) << text;
  EXPECT_THAT(refused("node1.nic3=1%x50"), HasSubstr("--jitter"));
  EXPECT_THAT(refused("node9.nic3=1%x50us"), HasSubstr("--jitter"));
}

// Hits are Poisson: the 99 % quantiles are those of its tables, and of the normal distribution for many hits.
TEST(Jitter, SpreadsLikeAPoissonDistribution) {
  const std::vector<lowering::LinkDelay> delays{{topology::LinkId{0}, 0.1, Duration::us(10)},
                                                {topology::LinkId{1}, 0.1, Duration::us(40)}};
  const std::pair<double, double> cases[] = {{0.005, 0}, {0.02, 1}, {1, 4}, {10, 18}, {499, 552}, {1000, 1074}};
  for (const auto& [mean, hits] : cases) {
    const Duration without = Duration::us(100);
    const Duration expected = without + Duration::ns(static_cast<std::int64_t>(mean * 40'000));
    const JitterEffect e = jitter_effect(without, expected, delays);
    EXPECT_EQ(e.without, without);
    EXPECT_NEAR(e.expected_hits, mean, 1e-9 * mean);
    EXPECT_NEAR(e.calls_hit_percent, 100 * (1 - std::exp(-mean)), 1e-6) << mean;
    EXPECT_NEAR(e.p99.in_us(), 100 + 40 * hits, 1e-5) << mean;
  }
}

TEST(Jitter, WithoutHoldUpsNothingSpreads) {
  const Duration t = Duration::us(5);
  for (const JitterEffect& e :
       {jitter_effect(t, Duration::us(6), {}), jitter_effect(t, t, {{topology::LinkId{0}, 1, t}})}) {
    EXPECT_EQ(e.p99, t);
    EXPECT_EQ(e.expected_hits, 0);
    EXPECT_EQ(e.calls_hit_percent, 0);
  }
}

TEST(Jitter, IsSaidInMicroseconds) {
  const JitterEffect e{0.25, 22.1, Duration::us(100), Duration::us(140)};
  EXPECT_EQ(jitter_to_text(e, Duration::us(110)),
            "Jitter: 110.0 us expected instead of 100.0 us; 22.1 % of calls are delayed, 0.250 times on average, and "
            "99 of 100 take no more than 140.0 us.");
}

}  // namespace
}  // namespace busbar::predict
