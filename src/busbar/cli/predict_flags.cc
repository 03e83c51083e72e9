#include "busbar/cli/predict_flags.h"

#include <fmt/format.h>

#include "busbar/base/quantity.h"
#include "busbar/cli/question_command.h"
#include "busbar/questions/predict_request.h"

namespace busbar {

std::vector<Flag> predict_flags(PredictOptions& o, const std::string& launch) {
  return flags_of(Record("predict", questions::with_default_launch(record_of(&o).fields(), launch)), &o);
}

void add_policy(Json& j, const PredictPolicy& policy, const std::string& mode, Duration launch) {
  j["nccl"] = to_string(policy.nccl);
  j["env"] = policy.env;
  j["launch"] = {{"mode", mode.empty() ? "machine" : mode}, {"us", launch.in_us()}};
  if (policy.host_per_gpu > Duration()) j["launch"]["host_us_per_gpu"] = policy.host_per_gpu.in_us();
}

std::string policy_words(const PredictPolicy& policy, const std::string& mode, Duration launch) {
  std::string out = fmt::format("launch: {}, {} us", mode.empty() ? "as the machine's file says" : mode,
                                format_number(launch.in_us()));
  if (policy.host_per_gpu > Duration())
    out += fmt::format(", or the host's {} us per GPU of a node", format_number(policy.host_per_gpu.in_us()));
  for (const std::string& variable : policy.env) out += "; " + variable;
  return out;
}

void explain_shortcuts(const Shortcuts& shortcuts, Json& j, Document& document) {
  const std::vector<std::string> names = shortcuts.names_taken();
  j["shortcuts"] = names;
  document.add(Paragraph{names.empty()
                             ? std::string("No shortcut was taken.")
                             : fmt::format("Shortcuts taken (docs/models/shortcuts.md): {}.", fmt::join(names, ", "))});
}

}  // namespace busbar
