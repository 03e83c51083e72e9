// Dumps of PyTorch's flight recorder, one per rank.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar::formats {

/// Whether a dump begins so, as pickle or as JSON.
bool looks_like_flight_recorder(std::string_view head);

/// The dump as lines that catalog/evidence reads: per group of ranks how many collectives this rank has enqueued,
/// started and completed, and the first one that is not completed. The rank is the last number of the file's name
/// (nccl_trace_rank_3), because dumps do not contain it. Source: PyTorch 2.10, FlightRecorderDetail.hpp (keys).
/// Errors: kInvalid for broken data, with the place.
Result<std::string> flight_recorder_lines(std::string_view dump, const std::string& name);

}  // namespace busbar::formats
