// What all commands share: flags for machine and output, timing of the run, and how a result leaves the program.
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

/// Flags that every command takes.
struct CommonOptions {
  Overrides overrides;
  std::string engine = "flow";
  bool json = false;
  bool csv = false;
  bool explain = false;
  std::string html;
  std::string typed;                                 ///< the command line, for the report
  std::string settings;                              ///< see Command::settings
  bool for_programs() const { return json || csv; }  ///< stdout holds data and nothing else
};
std::vector<Flag> common_flags(CommonOptions& o, bool with_engine);

/// The machine, as a word and as --cluster, which every command with a machine takes.
Positional cluster_word(std::string& cluster, bool required = true);
Flag cluster_flag(std::string& cluster);

/// Wall and processor seconds since it was made.
class RunClock {
 public:
  RunClock() : start_(std::chrono::steady_clock::now()) {}
  Json to_json() const;

 private:
  std::chrono::steady_clock::time_point start_;
};

/// 16 digits of what a result depends on: settings, `read` (text of the catalogue) and the contents of all inputs.
/// Names of inputs do not count, nor outputs, nor the order of flags.
std::string inputs_hash(const CommonOptions& o, std::string_view read = {});

/// {"link", "class", "phase", "kind"} of a bound; nulls when nothing was sent.
Json bound_to_json(const Bound& bound, const Topology& topology);
/// What people call a link: its part, else its kind.
std::string link_class_name(LinkId link, const Topology& topology);
/// "the bandwidth of ndr 4x (node0.nic3->leaf3), phase ring all-gather"; in short: "bandwidth, ndr 4x".
std::string bound_to_text(const Bound& bound, const Topology& topology);
std::string bound_in_short(const Bound& bound, const Topology& topology);

/// Prints JSON, CSV or the terminal text on stdout, and writes the page where asked. `data` already holds the schema.
/// Returns the exit status: `status`, or 2 when stdout or a file could not be written.
/// Nothing goes to stdout when the command has written its own JSON there already.
enum class Printed : std::uint8_t { kNot, kAlready };
int deliver(const CommonOptions& o, const Json& data, const Document& document, int status = 0,
            Printed printed = Printed::kNot);

}  // namespace busbar
