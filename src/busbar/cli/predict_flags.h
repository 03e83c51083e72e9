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

/// Adds the keys "nccl", "env" and "launch" {mode, us} to a result: the rules of its predictions. `mode`: empty for the
/// machine's own figure; `launch`: the launch time of the predictions.
void add_policy(Json& j, const PredictPolicy& policy, const std::string& mode, Duration launch);
/// "launch: process, 7.08 us; NCCL_PROTO=LL".
std::string policy_words(const PredictPolicy& policy, const std::string& mode, Duration launch);
/// What --explain says of the shortcuts that an answer took: the key "shortcuts" and a paragraph.
void explain_shortcuts(const Shortcuts& shortcuts, Json& j, Document& document);

}  // namespace busbar
