#include "busbar/accuracy/thresholds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::accuracy {
namespace {

using ::testing::HasSubstr;

constexpr collectives::Collective kOps[] = {collectives::Collective::kAllReduce, collectives::Collective::kAllGather};
constexpr std::uint64_t kSizes[] = {std::uint64_t{1} << 20, std::uint64_t{1} << 30};

Thresholds of(const char* cluster, std::vector<std::string> degrade = {}) {
  ExpectOptions o;
  o.cluster = cluster;
  o.overrides.degrade = std::move(degrade);
  return acceptance_thresholds(o, kOps, kSizes).value();
}

TEST(Thresholds, TheExpectedTimeIsBetweenBothLimits) {
  const Thresholds t = of("dgx-h100:2");
  EXPECT_EQ(t.ranks, 16u);
  ASSERT_EQ(t.rows.size(), 4u);
  for (const Threshold& r : t.rows) {
    EXPECT_LT(r.least_busbw_GBps, r.expected_busbw_GBps);
    EXPECT_GT(r.most_busbw_GBps, r.expected_busbw_GBps);
    EXPECT_NEAR(r.expected_us / r.most_us, r.least_busbw_GBps / r.expected_busbw_GBps, 1e-9);
  }
}

TEST(Thresholds, ARowThatIsInterruptedIsLeftOut) {
  volatile std::sig_atomic_t stop = 0;
  ExpectOptions o;
  o.cluster = "dgx-h100";
  o.policy.stop = &stop;
  o.go_on = [&](std::size_t done, std::size_t) { return stop = done == 1, true; };  // as if a signal came just after
  const auto found = acceptance_thresholds(o, kOps, kSizes);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->rows.size(), 1u);
  const auto results = expect_results({"", {{1 << 20, 100}, {1 << 30, 5000}}}, o);
  ASSERT_TRUE(results.ok()) << results.error().text();
  EXPECT_EQ(results->rows.size(), 1u);
}

TEST(Thresholds, AcceptedResultsAreGoodForExpect) {
  ExpectOptions o;
  o.cluster = "dgx-h100";
  for (const Threshold& r : of("dgx-h100").rows) {
    o.op = r.op;
    for (const auto& [us, verdict] : {std::pair{r.most_us * 0.999, Verdict::kGood},
                                      {r.most_us * 1.001, Verdict::kLow},
                                      {r.least_us * 0.999, Verdict::kFast}}) {
      const MeasuredResults one{"", {{r.size_bytes, us}}};
      EXPECT_EQ(expect_results(one, o)->rows[0].verdict, verdict) << collectives::name_of(r.op) << " " << r.size_bytes;
    }
  }
}

TEST(Thresholds, BandsComeFromMeasurementsAndAreWiderWhereThereIsNone) {
  const predict::AccuracyTable table = predict::AccuracyTable::load(spec::Catalog()).value();
  const Bytes size{std::uint64_t{1} << 30};
  const auto width = [&](const char* cluster, bool several) {
    const predict::Band b = table.collective(spec::load_cluster(cluster).value(), size, several);
    return b.high_percent - b.low_percent;
  };
  EXPECT_GT(width("dgx-h100", false), 0);
  EXPECT_GT(width("dgx-h100:2", true), 0);
  EXPECT_LE(width("dgx-h100", false), width("gaudi3-8", false)) << "nothing was measured there";
  EXPECT_THAT(table.collective(spec::load_cluster("gaudi3-8").value(), size, false).basis,
              HasSubstr("no measurement of gaudi3"));
  EXPECT_THAT(table.collective(spec::load_cluster("dgx-h100").value(), size, false).basis,
              HasSubstr("measured on h100-sxm"));
  EXPECT_THAT(table.collective(spec::load_cluster("gaudi3-8").value(), size, false).basis, HasSubstr("joined by"));
}

TEST(Thresholds, SizesAboveABandsBeginningUseIt) {
  const predict::AccuracyTable table = predict::AccuracyTable::load(spec::Catalog()).value();
  const spec::Cluster c = spec::load_cluster("dgx-h100").value();
  const auto sizes = table.sizes();
  ASSERT_EQ(sizes.size(), 4u);
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const predict::Band at = table.collective(c, sizes[i], false);
    const predict::Band below_next = table.collective(c, Bytes{count(sizes[i + 1]) - 1}, false);
    EXPECT_EQ(at.basis, below_next.basis);
    EXPECT_NE(at.basis, table.collective(c, sizes[i + 1], false).basis);
  }
}

}  // namespace
}  // namespace busbar::accuracy
