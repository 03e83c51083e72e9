// A timeline as JSON for chrome://tracing and everything else that reads the Trace Event Format.
#pragma once

#include <string>

#include "busbar/base/result.h"
#include "busbar/trace/timeline.h"

namespace busbar {

/// Complete ("X") events with microseconds to the exact picosecond, names of processes and threads as metadata. About
/// three times the size of the Perfetto trace, without flows and counters.
/// Source: "Trace Event Format", Google, 2016.
std::string chrome_json(const Timeline& timeline);
Status write_chrome_json(const Timeline& timeline, const std::string& path);

}  // namespace busbar
