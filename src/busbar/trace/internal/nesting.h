// Rows that a trace viewer can draw: in each, spans follow or contain one another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/trace/timeline.h"

namespace busbar {

/// One row of a track. `number` 0 is the track itself; spans that overlap without nesting go to further rows.
struct Lane {
  TrackId track{};
  std::uint32_t number = 0;
  std::vector<std::uint32_t> spans;  ///< indices into Timeline::spans, by start, the longer one first
};

/// Every span with a known track is in exactly one lane, and in a lane two spans either do not overlap or one contains
/// the other. By track, then number; tracks without spans have one empty lane. A negative duration counts as zero.
std::vector<Lane> nest(const Timeline& timeline);

/// strings[index], or empty where there is no such string.
std::string_view string_at(const Timeline& timeline, std::uint32_t index);
/// "compute", "compute (2)": the name of a lane.
std::string lane_name(const Timeline& timeline, const Lane& lane);
/// start + duration; the start where the duration is negative.
Duration span_end(const Span& span);

}  // namespace busbar
