#include "busbar/questions/collective_course.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/questions/test_collectives.h"

namespace busbar::questions {
namespace {

TEST(CollectiveCourse, EndsWhenThePredictionDoesAndItsChainFillsTheTime) {
  for (const char* cluster : {"dgx-h100", "dgx-h100:2"})
    for (const char* algorithm : {"ring", "tree", "nvls"}) {
      const CollectiveResult r = all_reduce_answer(cluster, algorithm, "4M");
      const CollectiveCourse c = course_of(r.rows[0], *r.machine).value();
      double last_s = 0, sum_s = 0;
      for (const CourseSend& s : c.sends) {
        EXPECT_LE(s.start_s, s.sent_s);
        EXPECT_LE(s.sent_s, s.done_s);
        last_s = std::max(last_s, s.done_s);
      }
      for (const CoursePart& p : c.chain) sum_s += p.end_s - p.begin_s;
      EXPECT_NEAR(last_s, r.rows[0].time.in_s(), 1e-11) << cluster << algorithm;
      EXPECT_NEAR(sum_s, r.rows[0].time.in_s(), 1e-11) << cluster << algorithm;
    }
}

TEST(CollectiveCourse, EveryRankOfARingReceivesWhatTheLawSaysAndAddsHalfOfIt) {
  const CollectiveResult r = all_reduce_answer("dgx-h100", "ring", "4M");
  const CollectiveCourse c = course_of(r.rows[0], *r.machine).value();
  double received = 0, added = 0;
  for (const CourseSend& s : c.sends) {
    if (c.ends[s.way].to != r.machine->placement().gpu(3)) continue;
    received += s.bytes;
    added += s.adds ? s.bytes : 0;
    EXPECT_LT(s.piece, 8u);
  }
  EXPECT_NEAR(received, 1.75 * (4 << 20), 1);
  EXPECT_NEAR(added, received / 2, 1);
}

TEST(CollectiveCourse, IsOfTheLargestSizeThatCanBeFollowedAndTheRowComesFirst) {
  const CollectiveResult r = all_reduce_answer("dgx-h100", "ring", "4M");
  const auto courses = courses_of(r.rows, *r.machine);
  ASSERT_GT(courses.size(), 2u);
  EXPECT_EQ(courses[0].row.algorithm, "ring");
  EXPECT_TRUE(std::is_sorted(courses.begin() + 1, courses.end(),
                             [](const auto& a, const auto& b) { return a.row.time < b.row.time; }));
}

TEST(CollectiveCourse, OfTooManyRanksIsRefused) {
  const CollectiveResult r = all_reduce_answer("dgx-h100:16", "ring", "4M");
  EXPECT_EQ(course_of(r.rows[0], *r.machine).error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(courses_of(r.rows, *r.machine).empty());
}

}  // namespace
}  // namespace busbar::questions
