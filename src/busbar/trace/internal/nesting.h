// Rows that a trace viewer can draw: in each row, any two spans are disjoint or nested.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/trace/timeline.h"

namespace busbar::trace {

/// One row of a track. `number` 0 is the track itself; spans that overlap without nesting go to additional rows.
struct Lane {
  TrackId track{};
  std::uint32_t number = 0;
  std::vector<std::uint32_t> spans;  ///< indices into Timeline::spans, by start; of equal starts the longer first
};

/// Every span with a known track is in exactly one lane. In a lane two spans either do not overlap or one contains the
/// other. Lanes are ordered by track, then number. A track without spans has one empty lane. Negative durations count
/// as zero.
std::vector<Lane> nest(const Timeline& timeline);

/// strings[index], or empty if there is no such string.
std::string_view string_at(const Timeline& timeline, std::uint32_t index);
/// "compute", "compute (2)": the name of a lane.
std::string lane_name(const Timeline& timeline, const Lane& lane);
/// start + duration; the start if the duration is negative.
Duration span_end(const Span& span);

}  // namespace busbar::trace
