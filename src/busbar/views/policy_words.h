// How an answer predicted collectives, in words.
#pragma once

#include <string>
#include <vector>

#include "busbar/predict/policy.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// "launch: process, 7.08 us; NCCL_PROTO=LL". `mode`: empty for the machine's own figure.
std::string policy_words(const predict::PredictPolicy& policy, const std::string& mode, Duration launch);
/// What --explain says of the shortcuts that an answer took.
report::Paragraph shortcut_words(const std::vector<std::string>& names);

}  // namespace busbar::views
