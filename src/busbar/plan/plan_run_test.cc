#include "busbar/plan/plan_run.h"

#include <gtest/gtest.h>

namespace busbar::plan {
namespace {

TEST(PlanProgress, SaysHowMuchFasterALayoutCanStillBe) {
  EXPECT_EQ(progress_words({}), " timed; looking for one that fits");
  EXPECT_EQ(progress_words({Duration::us(5'000'000), Duration::us(4'500'000)}),
            " timed, the best takes 5.00 s; at most 10 % less is possible");
  EXPECT_EQ(progress_words({Duration::us(5'000'000), Duration::us(5'000'000)}),
            " timed, the best takes 5.00 s: proven; timing others that may tie");
}

}  // namespace
}  // namespace busbar::plan
