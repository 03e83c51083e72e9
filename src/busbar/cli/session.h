// Flags for output, timing of the run, and output of the result.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/result.h"
#include "busbar/cli/flags.h"
#include "busbar/report/document.h"

namespace busbar {

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

/// Prints JSON, CSV or the terminal text on stdout, and writes the page if requested. `data` already holds the schema;
/// the key `run` is added if it is not there.
/// Returns the exit status: `status`, or 2 if stdout or a file could not be written. kAlready: the command has written
/// its own JSON to stdout, so nothing more goes there.
enum class Printed : std::uint8_t { kNot, kAlready };
Result<int> deliver(const OutputOptions& o, Json& data, const Document& document, int status = 0,
                    Printed printed = Printed::kNot);

}  // namespace busbar
