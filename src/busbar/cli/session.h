// Shared by all commands: flags for machine and output, timing of the run, and output of the result.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/result.h"
#include "busbar/cli/flags.h"
#include "busbar/cli/streams.h"
#include "busbar/engine/engine.h"
#include "busbar/report/document.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// Wall and processor seconds since construction.
class RunClock {
 public:
  RunClock() : start_(std::chrono::steady_clock::now()) {}
  Json to_json() const;

 private:
  std::chrono::steady_clock::time_point start_;
};

/// Flags of every command.
struct CommonOptions {
  Overrides overrides;
  std::string engine = "flow";
  bool json = false;
  bool csv = false;
  bool explain = false;
  std::string html;
  std::string typed;                                 ///< the command line, for reports
  std::string settings;                              ///< see Command::settings
  std::vector<std::string> given;                    ///< see Command::given
  RunClock clock;                                    ///< since the command line was read
  bool for_programs() const { return json || csv; }  ///< stdout holds only data
};
/// A command whose typed line, settings and given flags are kept in `o`.
Command new_command(CommonOptions& o, const std::string& typed, std::string name, std::string summary);
/// --json, --csv and --html.
std::vector<Flag> output_flags(CommonOptions& o);
/// Adds the flags for the engine, the machine and the output.
void add_common_flags(Command& c, CommonOptions& o);

/// The machine, as a word or as --cluster, for every command with a machine.
Positional cluster_word(std::string& cluster, bool required = true);
Flag cluster_flag(std::string& cluster);

/// 16 digits of everything that a result depends on: settings, `read` (text of the catalogue) and the contents of all
/// inputs. Names of inputs, outputs, and the order of flags do not count.
std::string inputs_hash(const CommonOptions& o, std::string_view read = {});

/// Prints JSON, CSV or the terminal text on stdout, and writes the page if requested. `data` already holds the schema;
/// the key `run` is added if it is not there.
/// Returns the exit status: `status`, or 2 if stdout or a file could not be written. kAlready: the command has written
/// its own JSON to stdout, so nothing more goes there.
enum class Printed : std::uint8_t { kNot, kAlready };
Result<int> deliver(const CommonOptions& o, Json& data, const Document& document, int status = 0,
                    Printed printed = Printed::kNot);

}  // namespace busbar
