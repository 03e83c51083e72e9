#include "busbar/report/internal/coalesce.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "busbar/report/demo/sample.h"

namespace busbar::report {
namespace {

std::map<int, double> area(const std::vector<TimelinePiece>& pieces) {
  std::map<int, double> out;
  for (const TimelinePiece& p : pieces) out[p.colour] += (p.end_s - p.start_s) * (p.high - p.low);
  return out;
}

std::map<int, double> time(const TimelineRow& row) {
  std::map<int, double> out;
  for (const TimelineSpan& s : row.spans) out[s.colour] += s.duration_s;
  return out;
}

TEST(Coalesce, LongSpansStayAsTheyAre) {
  const TimelineRow row{"", "", {{0, 1, 0, "a"}, {2, 3, 1, "b"}}};
  const auto pieces = coalesce(row, 0.01, 0.02);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].span, &row.spans[1]);
  EXPECT_EQ(pieces[1].start_s, 2);
  EXPECT_EQ(pieces[1].end_s, 5);
}

TEST(Coalesce, ShortSpansBecomeAStackWhoseHeightsAreShares) {
  const TimelineRow row{"", "", {{0.0, 0.2, 0, ""}, {0.2, 0.1, 1, ""}, {0.5, 0.5, 2, ""}}};
  const auto pieces = coalesce(row, 1, 2);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_NEAR(pieces[0].high, 0.2, 1e-12);
  EXPECT_NEAR(pieces[1].low, 0.2, 1e-12);
  EXPECT_NEAR(pieces[1].high, 0.3, 1e-12);
  EXPECT_NEAR(pieces[2].high, 0.8, 1e-12);  // the rest of the stretch is idle and blank
}

TEST(Coalesce, TheColouredTimeOfABusyRowIsKeptWhileItsPiecesAreFew) {
  for (const TimelineRow& row : demo::busy_timeline(4, 40'000).rows) {
    const auto pieces = coalesce(row, 8.0 / 1000, 16.0 / 1000);
    const auto want = time(row), got = area(pieces);
    ASSERT_EQ(want.size(), got.size());
    for (const auto& [index, seconds] : want) EXPECT_NEAR(got.at(index), seconds, 1e-9);
    EXPECT_LE(pieces.size(), 3 * 2 * 1000u);
  }
}

RC_GTEST_PROP(Coalesce, AnyRowKeepsItsColouredTimeAndItsPiecesDoNotOverlap,
              (std::vector<std::pair<std::uint8_t, std::uint8_t>> raw)) {
  TimelineRow row;
  double t = 0;
  for (const auto& [gap, length] : raw) {
    t += gap % 16 * 0.01;
    row.spans.push_back({t, length * 0.01, length % 5, ""});
    t += length * 0.01;
  }
  const auto pieces = coalesce(row, 0.2, 0.5);
  const auto want = time(row), got = area(pieces);
  for (const auto& [index, seconds] : want) {
    const auto it = got.find(index);
    RC_ASSERT(std::fabs((it == got.end() ? 0 : it->second) - seconds) < 1e-9);
  }
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    const bool same = pieces[i].start_s == pieces[i + 1].start_s && pieces[i].end_s == pieces[i + 1].end_s;
    const bool apart =
        same ? pieces[i].high <= pieces[i + 1].low + 1e-12 : pieces[i].end_s <= pieces[i + 1].start_s + 1e-12;
    RC_ASSERT(apart);
    RC_ASSERT(pieces[i].high <= 1 + 1e-9);
  }
}

TEST(Coalesce, SpansWithoutAFinitePositiveLengthAreLeftOut) {
  const double inf = std::numeric_limits<double>::infinity();
  const TimelineRow row{"", "", {{0, 0, 0, ""}, {0, -1, 0, ""}, {0, inf, 0, ""}, {std::nan(""), 1, 0, ""}}};
  EXPECT_TRUE(coalesce(row, 1, 2).empty());
}

TEST(SingleSpanLimit, LetsNoMoreThanTheBudgetThrough) {
  TimelineView view;
  view.rows.resize(1);
  for (int i = 1; i <= 100; ++i) view.rows[0].spans.push_back({0, i * 1.0, 0, ""});
  const double limit = single_span_limit(view, 0.5, 10);
  int through = 0;
  for (const TimelineSpan& s : view.rows[0].spans) through += s.duration_s >= limit;
  EXPECT_EQ(through, 10);
  EXPECT_EQ(single_span_limit(view, 0.5, 1000), 0.5);
  for (TimelineSpan& s : view.rows[0].spans) s.duration_s = 3;  // all have equal length: none may pass
  EXPECT_GT(single_span_limit(view, 0.5, 10), 3);
}

}  // namespace
}  // namespace busbar::report
