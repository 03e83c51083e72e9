#include "busbar/accuracy/internal/constant_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::accuracy {
namespace {

/// Rows of two generations (constants 0 and 1) and two frameworks (2 and 3) whose constants are `truth`.
std::vector<FitRow> rows_with(const std::vector<double>& truth) {
  std::vector<FitRow> rows;
  for (std::size_t i = 0; i < 24; ++i) {
    FitRow r{.ratio = 1, .clock_share = 0.3 + 0.02 * static_cast<double>(i), .held = 0.85, .time = 1.05};
    r.software_share = r.clock_share + 0.1;
    r.generation = i % 2;
    r.framework = 2 + i / 2 % 2;
    r.ratio = 1 / (1 + r.error(truth));
    rows.push_back(r);
  }
  return rows;
}

std::vector<const FitRow*> row_pointers(const std::vector<FitRow>& rows) {
  std::vector<const FitRow*> out;
  for (const FitRow& r : rows) out.push_back(&r);
  return out;
}

TEST(ConstantFit, FindsTheConstantsThatTheRowsWereMadeWith) {
  const std::vector<double> truth{0.8, 0.9, 1.15, 1};
  const std::vector<FitRow> rows = rows_with(truth);
  const std::vector<double> found = fit_constants(row_pointers(rows), {0.9, 0.9, 1, 1}, {0, 1, 2});
  for (std::size_t i = 0; i < truth.size(); ++i) EXPECT_NEAR(found[i], truth[i], 0.01) << i;
  for (const FitRow& r : rows) EXPECT_NEAR(r.error(truth), 0, 1e-12);
}

TEST(ConstantFit, RowsFarOffDoNotMoveAConstantAndThoseThatAreNotFreeStay) {
  std::vector<FitRow> rows = rows_with({0.8, 0.9, 1.15, 1});
  for (std::size_t i = 0; i < 3; ++i) rows[i].ratio *= 8;
  const std::vector<double> found = fit_constants(row_pointers(rows), {0.9, 0.9, 1, 1}, {0, 1, 2});
  EXPECT_NEAR(found[0], 0.8, 0.01);
  EXPECT_NEAR(found[2], 1.15, 0.01);
  EXPECT_EQ(found[3], 1);
  EXPECT_THAT(fit_constants({}, {0.9, 1}, {0}), ::testing::ElementsAre(0.9, 1));
}

}  // namespace
}  // namespace busbar::accuracy
