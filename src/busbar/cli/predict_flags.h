// --env, --nccl, --launch and --shortcuts-off: the flags of every command that predicts collectives.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/flags.h"
#include "busbar/predict/predict_options.h"
#include "busbar/report/document.h"

namespace busbar {

/// `launch`: the behaviour without --launch, in a few words.
std::vector<Flag> predict_flags(PredictOptions& o, const std::string& launch);

/// What --explain says of the shortcuts that an answer took: the key "shortcuts" and a paragraph.
void explain_shortcuts(const Shortcuts& shortcuts, Json& j, Document& document);

}  // namespace busbar
