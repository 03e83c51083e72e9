// Draws a hundred thousand spans in a thousand columns.
#pragma once

#include <cstddef>
#include <vector>

#include "busbar/report/document.h"

namespace busbar::report {

/// A rectangle of a timeline's row: [start_s, end_s) x [low, high) of the row's height, 0 at the bottom.
struct TimelinePiece {
  double start_s = 0, end_s = 0;
  double low = 0, high = 1;
  int colour = 0;
  const TimelineSpan* span = nullptr;  ///< the only span it shows; null: it shows several
};

/// Turns a row into pieces. Spans of at least `shortest_s` remain single. Shorter consecutive ones are gathered until
/// they cover `column_s`. Such a stretch is drawn as one stack, in which the height of a colour is its share of the
/// stretch. Neighbouring stacks that look alike become one.
///
/// Pre:       spans of a row do not overlap (overlapping ones are drawn on top of each other, in order).
/// Invariant: for every colour the sum of width x height over all pieces is the sum of its spans' durations.
/// Result:    by start time. Spans without a finite, positive duration are left out.
/// Cost:      O(n log n); pieces: the long spans and at most 2 x (length / column_s) stacks.
std::vector<TimelinePiece> coalesce(const TimelineRow& row, double column_s, double shortest_s);

/// The length from which spans are drawn singly: at least `least_s`, and such that at most `budget` spans of the whole
/// view reach it.
double single_span_limit(const TimelineView& view, double least_s, std::size_t budget);

}  // namespace busbar::report
