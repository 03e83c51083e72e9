#include "busbar/questions/collective_tiers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/questions/test_collectives.h"

namespace busbar::questions {
namespace {

/// All bytes between two kinds of tiers.
double bytes_between(const TierCourse& c, TierKind from, TierKind to) {
  double out = 0;
  for (std::size_t w = 0; w < c.ways.size(); ++w)
    if (c.tiers[c.ways[w].from].kind == from && c.tiers[c.ways[w].to].kind == to)
      for (const TierStage& s : c.stages) out += s.bytes[w];
  return out;
}

TEST(TierCourse, OfARingHasTheBytesThatItsLawSaysAndEndsWhenThePredictionDoes) {
  const CollectiveResult r = all_reduce_answer("dgx-h100:16", "ring", "64M");
  const TierCourse c = tier_course_of(r.rows[0], *r.machine).value();
  ASSERT_EQ(r.rows[0].protocol(), program::Protocol::kLl128);    // 120 of 128 bytes are data
  const double each = 2.0 * 127 / 128 * (64 << 20) * 128 / 120;  // what a rank sends
  EXPECT_NEAR(bytes_between(c, TierKind::kNics, TierKind::kFabric), 16 * each, 1e-6 * 16 * each);
  EXPECT_NEAR(bytes_between(c, TierKind::kFabric, TierKind::kNics), 16 * each, 1e-6 * 16 * each);
  EXPECT_GE(bytes_between(c, TierKind::kGpus, TierKind::kScaleUp), 7 * 16 * each);  // to seven of eight, at least
  EXPECT_NEAR(c.stages.front().begin_s, c.launch_s, 1e-12);
  EXPECT_NEAR(c.stages.back().end_s, r.rows[0].time.in_s(), 1e-11);
  const auto gpus =
      std::find_if(c.tiers.begin(), c.tiers.end(), [](const auto& t) { return t.kind == TierKind::kGpus; });
  ASSERT_NE(gpus, c.tiers.end());
  EXPECT_EQ(words_of(*gpus), "128 GPUs");
}

TEST(TierCourse, OfAReductionInTheFabricSendsTheBufferOnceUpAndOnceDown) {
  const CollectiveResult r = all_reduce_answer("dgx-h100:2", "sharp", "64M");
  const TierCourse c = tier_course_of(r.rows[0], *r.machine).value();
  EXPECT_NEAR(bytes_between(c, TierKind::kNics, TierKind::kFabric), 2.0 * (64 << 20), 1e3);
  EXPECT_NEAR(bytes_between(c, TierKind::kFabric, TierKind::kNics), 2.0 * (64 << 20), 1e3);
}

TEST(TierCourse, TheOthersFollowTheRowByTime) {
  const CollectiveResult r = all_reduce_answer("dgx-h100:16", "tree", "64M");
  const auto courses = tier_courses_of(r.rows, *r.machine);
  ASSERT_GT(courses.size(), 2u);
  EXPECT_EQ(courses[0].row.algorithm, "tree");
  EXPECT_TRUE(std::is_sorted(courses.begin() + 1, courses.end(),
                             [](const auto& a, const auto& b) { return a.row.time < b.row.time; }));
}

}  // namespace
}  // namespace busbar::questions
