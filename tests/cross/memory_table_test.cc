// The memory model against published peaks (data/measured/memory.csv) and against runs that had room.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/accuracy/validate.h"

namespace busbar {
namespace {

TEST(MemoryTable, PublishedPeaksAreNearAndARunWithoutRoomDoesNotFit) {
  const auto rows = accuracy::validate(CsvTable::load("data/measured/memory.csv").value(), {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  double sum = 0;
  int peaks = 0, refused = 0;
  for (const accuracy::ScoredRow& r : *rows) {
    EXPECT_EQ(r.unsupported, "") << r.id;
    if (r.counts) {
      sum += std::abs(r.error_percent());
      ++peaks;
      EXPECT_LT(std::abs(r.error_percent()), 17) << r.configuration << ": " << r.how;
    } else {
      EXPECT_GT(r.predicted, r.measured) << r.configuration << ": " << r.how;  // the GPU's memory
      ++refused;
    }
  }
  fmt::print("mean error of {} peaks: {:.1f} %\n", peaks, sum / peaks);
  EXPECT_EQ(peaks, 19);
  EXPECT_EQ(refused, 1);
  EXPECT_LT(sum / peaks, 6);
}

// These rows state what they recompute, so their layout does not bend to what fits. One GPU with all of Adam's states
// in 16 bits per parameter would have no room; its source does not say how it is done.
TEST(MemoryTable, StepsThatRanOnOneNodeFit) {
  accuracy::ValidateOptions options;
  options.only = "use=accuracy,gpus_total<9,moe=no,recompute!=";
  const auto rows = accuracy::validate(CsvTable::load("data/measured/training.csv").value(), options);
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  int n = 0;
  for (const accuracy::ScoredRow& r : *rows) {
    if (!r.unsupported.empty() || r.id == "1183") continue;
    EXPECT_GT(r.memory_share, 0.1) << r.id;
    EXPECT_LE(r.memory_share, 1) << r.configuration << ": " << r.how;
    ++n;
  }
  EXPECT_GT(n, 80);
}

}  // namespace
}  // namespace busbar
