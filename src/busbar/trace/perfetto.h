// Writes a timeline for ui.perfetto.dev and trace_processor.
#pragma once

#include <string>

#include "busbar/trace/timeline.h"

namespace busbar::trace {

/// The bytes of a Perfetto trace: TrackEvents on one process track per Track::process and one thread track per track
/// (more if spans overlap without nesting). Slices carry their category and, if known, the arguments `bound_by`,
/// `cause` (label of the causing span), `algorithm`, `bytes` and `exposed_us`, and a flow arrow from the cause. Links
/// with a known course are counters in percent of their payload rate, busiest first, with a value at each change.
///
/// Units:   Perfetto counts nanoseconds. Both ends of a span are rounded to the nearest one, not its duration, so spans
///          that touch still touch and nesting is kept. Times before 0 become 0.
/// Source:  protos/perfetto/trace/{trace_packet,interned_data/interned_data,track_event/*}.proto of Perfetto v45, for
///          the field numbers.
/// Cost:    linear in spans, except for a sort per track; about 60 bytes a span.
/// Order:   equal timelines give equal bytes.
std::string perfetto_bytes(const Timeline& timeline);

}  // namespace busbar::trace
