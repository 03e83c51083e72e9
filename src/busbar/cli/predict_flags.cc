#include "busbar/cli/predict_flags.h"

#include "busbar/cli/question_command.h"
#include "busbar/questions/predict_request.h"
#include "busbar/views/policy_words.h"

namespace busbar {

std::vector<Flag> predict_flags(PredictOptions& o, const std::string& launch) {
  return flags_of(Record("predict", questions::with_default_launch(record_of(&o).fields(), launch)), &o);
}

void explain_shortcuts(const Shortcuts& shortcuts, Json& j, Document& document) {
  const std::vector<std::string> names = shortcuts.names_taken();
  j["shortcuts"] = names;
  document.add(shortcut_words(names));
}

}  // namespace busbar
