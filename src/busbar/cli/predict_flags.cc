#include "busbar/cli/predict_flags.h"

#include <fmt/format.h>

#include "busbar/base/quantity.h"
#include "busbar/predict/launch.h"

namespace busbar {

std::vector<Flag> predict_flags(PredictOptions& o, const std::string& launch) {
  return {{"--env", "NCCL_X=Y", "set a variable of NCCL; may be given several times", "NCCL", &o.env},
          {"--nccl", "VERSION", "NCCL release whose rules apply, 2.18 to 2.30 (default: as in the input, or 2.30)",
           "NCCL", &o.nccl},
          {"--launch", "MODE",
           "how collectives start: graph (CUDA graph), loop (one process, all its GPUs), process (one per GPU), "
           "unknown (default: " +
               launch + ")",
           "NCCL", &o.launch, launch_modes()},
          {"--shortcuts-off", "NAMES",
           "compute without these shortcuts, e.g. call-images,bundles, or all; --explain names those taken", "Output",
           &o.shortcuts_off}};
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
