#include "busbar/cli/predict_flags.h"

#include "busbar/cli/question_command.h"
#include "busbar/questions/predict_request.h"
#include "busbar/views/policy_words.h"

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

void explain_shortcuts(const Shortcuts& shortcuts, Json& j, Document& document) {
  const std::vector<std::string> names = shortcuts.names_taken();
  j["shortcuts"] = names;
  document.add(shortcut_words(names));
}

}  // namespace busbar
