#include "busbar/views/policy_words.h"

#include <fmt/format.h>

#include "busbar/base/quantity.h"

namespace busbar::views {

std::string policy_words(const predict::PredictPolicy& policy, const std::string& mode, Duration launch) {
  std::string out = fmt::format("launch: {}, {} us", mode.empty() ? "as the machine's file says" : mode,
                                format_number(launch.in_us()));
  if (policy.host_per_gpu > Duration())
    out += fmt::format(", or the host's {} us per GPU of a node", format_number(policy.host_per_gpu.in_us()));
  for (const std::string& variable : policy.env) out += "; " + variable;
  return out;
}

report::Paragraph shortcut_words(const std::vector<std::string>& names) {
  if (names.empty()) return {"No shortcut was taken."};
  return {fmt::format("Shortcuts taken (docs/models/shortcuts.md): {}.", fmt::join(names, ", "))};
}

}  // namespace busbar::views
