// The steps of a real run as a timeline.
#pragma once

#include <cstdint>

#include "busbar/runtime/session.h"
#include "busbar/trace/timeline.h"

namespace busbar::questions {

/// A row per thread of the plan. The cause of a step is what it waited for that ended last.
/// Precondition: the task was recorded, on one host.
trace::Timeline timeline_of(const runtime::Executable& program, std::uint64_t chunk_bytes,
                            const std::vector<runtime::StepTime>& steps);

}  // namespace busbar::questions
