// A timeline for ui.perfetto.dev and trace_processor.
#pragma once

#include <cstdint>
#include <string>

#include "busbar/base/result.h"
#include "busbar/trace/timeline.h"

namespace busbar {

/// The bytes of a Perfetto trace: TrackEvents on one process track per Track::process and one thread track per track
/// (more where spans overlap without nesting). Slices carry their category and, where known, the arguments `bound_by`
/// and `cause` (label of the causing span), and a flow arrow from the cause. Links whose course is known are counters in
/// percent of their payload rate, busiest first, with a value wherever it changes.
///
/// Units:   Perfetto counts nanoseconds. Both ends of a span are rounded to the nearest one, not its duration, so spans
///          that touch still touch and nesting survives. Times before 0 become 0.
/// Source:  protos/perfetto/trace/{trace_packet,interned_data/interned_data,track_event/*}.proto of Perfetto v45, for
///          the field numbers.
/// Cost:    linear in spans but for a sort per track; about 60 bytes a span.
/// Order:   equal timelines give equal bytes.
std::string perfetto_bytes(const Timeline& timeline);

/// Writes them to `path`; kIo with the path where that fails.
Status write_perfetto(const Timeline& timeline, const std::string& path);

}  // namespace busbar
