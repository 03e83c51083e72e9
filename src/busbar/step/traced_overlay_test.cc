#include "busbar/step/traced_overlay.h"

#include <gtest/gtest.h>

namespace busbar::step {
namespace {

// Two steps with 2 s of computation each; the measured one waits twice as long for TP in its second half.
const std::vector<OverlaySpan> kPredicted{{0, 1, "compute"}, {1, 0.5, "exposed_tp"}, {1.5, 1, "compute"}};
const std::vector<OverlaySpan> kMeasured{{0, 0.5, "compute"},
                                         {0.5, 0.25, "exposed_tp"},
                                         {0.75, 0.5, "compute"},
                                         {1.25, 1.25, "exposed_tp"},
                                         {2.5, 1, "compute"}};

TEST(TracedOverlay, SlicesHaveEqualComputationAndSumToBothSteps) {
  for (const std::size_t count : {1u, 2u, 3u, 7u, 40u}) {
    const std::vector<OverlaySlice> slices = slices_of(kMeasured, kPredicted, count);
    ASSERT_EQ(slices.size(), count);
    double measured = 0, predicted = 0;
    for (const OverlaySlice& s : slices) {
      EXPECT_NEAR(s.measured_from_s, measured, 1e-12);
      EXPECT_NEAR(s.predicted_from_s, predicted, 1e-12);
      measured += s.measured_s;
      predicted += s.predicted_s;
    }
    EXPECT_NEAR(measured, 3.5, 1e-12);
    EXPECT_NEAR(predicted, 2.5, 1e-12);
  }
}

TEST(TracedOverlay, ASliceNamesThePartThatDiffersMost) {
  const std::vector<OverlaySlice> slices = slices_of(kMeasured, kPredicted, 2);
  EXPECT_EQ(slices[0].part, "exposed_tp");
  EXPECT_NEAR(slices[0].part_more_s, 0.25, 1e-12);
  EXPECT_NEAR(slices[1].more_s(), 0.75, 1e-12);
  EXPECT_EQ(slices[1].part, "exposed_tp");
  EXPECT_NEAR(slices[1].part_more_s, 0.75, 1e-12);
}

TEST(TracedOverlay, WithoutComputationThereIsNothingToCompare) {
  EXPECT_TRUE(slices_of({{0, 1, "exposed_tp"}}, kPredicted, 4).empty());
}

}  // namespace
}  // namespace busbar::step
