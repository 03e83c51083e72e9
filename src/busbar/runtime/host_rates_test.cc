#include "busbar/runtime/host_rates.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "busbar/runtime/calibrating_runs.h"

namespace busbar::runtime {
namespace {

TEST(HostRates, AreMeasuredInCacheAndForTheLargestBuffer) {
  const HostRates r = measure_host(2, 100'000).value();
  EXPECT_EQ(r.largest.bytes, 100'000u);
  for (const RatePoint& p : {r.in_cache, r.largest}) {
    EXPECT_GT(p.copy_bytes_per_s, 1e6);
    EXPECT_GT(p.add_bytes_per_s, 1e6);
  }
}

/// Whether two threads of so many began on one core; `wanted`: what ends the search, as a busy system may move a thread
/// at once.
bool begin_together(std::uint32_t a, std::uint32_t b, std::uint32_t threads, bool wanted) {
  bool together = !wanted;
  for (int i = 0; i < 50 && together != wanted; ++i) {
    begin_on_own_core(a, threads);
    const int first = sched_getcpu();
    begin_on_own_core(b, threads);
    together = first == sched_getcpu();
  }
  return together;
}

TEST(HostRates, ThreadsBeginOnDifferentCoresAndMayGoAnywhereLater) {
  const std::uint32_t cores = cores_allowed();
  if (cores < 2) GTEST_SKIP() << "one core";
  EXPECT_FALSE(begin_together(0, 1, 2, false));
  EXPECT_EQ(cores_allowed(), cores);
}

TEST(HostRates, OfMoreThreadsThanCoresNeighboursBeginOnOneCore) {
  const std::uint32_t cores = cores_allowed();
  if (cores < 2) GTEST_SKIP() << "one core";
  EXPECT_TRUE(begin_together(0, 1, 2 * cores, true));
  EXPECT_TRUE(begin_together(2 * cores - 2, 2 * cores - 1, 2 * cores, true));
  EXPECT_FALSE(begin_together(0, 2 * cores - 1, 2 * cores, false));
  EXPECT_EQ(cores_allowed(), cores);
}

TEST(RunRates, AreMeasuredForEachSizeUpToTheLargest) {
  struct Case {
    Transport transport;
    std::uint64_t bytes;
    std::size_t points;
  };
  for (const Case& c : {Case{Transport::kThreads, 100'000, 2}, Case{Transport::kTcp, 1000, 1}}) {  // 64 and 256 KiB
    const auto r = measure_runs(2, c.bytes, 64 << 10, {c.transport});
    ASSERT_TRUE(r.ok()) << r.error().text();
    ASSERT_EQ(r->points.size(), c.points);
    EXPECT_GT(r->hop_s, 1e-9);
    EXPECT_GT(r->kept_message_s, 1e-9);
    for (const RunRatePoint& p : r->points)
      for (const double rate : {p.copy_bytes_per_s, p.add_bytes_per_s, p.one_copy_bytes_per_s, p.kept_copy_bytes_per_s})
        EXPECT_GT(rate, 1e6);
  }
}

TEST(RunRates, TimeAnAlgorithmOfTheOperationAtEachSize) {
  const auto r = measure_runs(2, 100 << 10, 64 << 10, {Transport::kThreads},
                              reference_for(collectives::Collective::kAllReduce, 0, false));
  ASSERT_TRUE(r.ok()) << r.error().message;
  ASSERT_EQ(r->reference.size(), 6u);  // 64 B, then 1 KiB to 256 KiB
  EXPECT_EQ(r->reference.back().bytes, 256u << 10);
  for (const TimedCall& c : r->reference) EXPECT_GT(c.seconds, 0);
}

TEST(RunRates, ReferencesArePowersOfTheSizeBetweenTwo) {
  const RunRates r{.reference = {{1 << 10, 2e-6}, {4 << 10, 8e-6}, {16 << 10, 8e-6}}};
  EXPECT_DOUBLE_EQ(r.reference_s(8), 2e-6);
  EXPECT_DOUBLE_EQ(r.reference_s(1 << 10), 2e-6);
  EXPECT_NEAR(r.reference_s(2 << 10), 4e-6, 1e-12);
  EXPECT_NEAR(r.reference_s(8 << 10), 8e-6, 1e-12);
  EXPECT_NEAR(r.reference_s(32 << 10), 16e-6, 1e-12);
}

TEST(RunRates, AreInProportionBetweenTwoSizes) {
  const RunRates r{.points = {{1 << 10, 10, 6, 30, 7}, {4 << 10, 20, 8, 50, 9}}};
  EXPECT_DOUBLE_EQ(r.at(2 << 10).copy_bytes_per_s, 15);
  EXPECT_DOUBLE_EQ(r.at(2 << 10).add_bytes_per_s, 7);
  EXPECT_DOUBLE_EQ(r.at(2 << 10).one_copy_bytes_per_s, 40);
  EXPECT_DOUBLE_EQ(r.at(2 << 10).kept_copy_bytes_per_s, 8);
  EXPECT_DOUBLE_EQ(r.at(1).copy_bytes_per_s, 10);
  EXPECT_DOUBLE_EQ(r.at(1 << 20).copy_bytes_per_s, 20);
}

}  // namespace
}  // namespace busbar::runtime
