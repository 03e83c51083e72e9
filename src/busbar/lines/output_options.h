// Flags for output, and the timing of the run.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/lines/flags.h"

namespace busbar::lines {

/// Wall and processor seconds since construction.
class RunClock {
 public:
  RunClock() : start_(std::chrono::steady_clock::now()) {}
  Json to_json() const;

 private:
  std::chrono::steady_clock::time_point start_;
};

/// How a question's answer is shown.
struct OutputOptions {
  bool json = false;
  bool csv = false;
  std::string html;
  std::string typed;                                 ///< the command line, for reports
  RunClock clock;                                    ///< since the command line was read
  bool for_programs() const { return json || csv; }  ///< stdout holds only data
};
/// --json, --csv and --html.
std::vector<Flag> output_flags(OutputOptions& o);

}  // namespace busbar::lines
