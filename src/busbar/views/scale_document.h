// One layout on machines of many sizes, as a document.
#pragma once

#include <string>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/step/scale_run.h"

namespace busbar::views {

/// "one server", "two tiers".
std::string level_words(const step::ScalePoint& point);
/// "From 32 GPUs on, communication of data parallelism is exposed."; precondition: the curve has a point.
std::string hiding_words(const step::ScaleRun& run, bool weak);
/// Where a curve leaves a level and where it rises, in sentences; empty: nowhere.
std::string remarks_on(const step::ScaleRun& run, bool weak);
/// How many GPUs of `other` are as fast as each size of `run`: "4 (8.2 k tokens/s): 8".
report::Table crossings(const step::ScaleRun& run, const step::ScaleRun& other, bool weak);
/// All runs one after another, the scenario itself first.
report::Document scale_document(const std::vector<step::ScaleRun>& runs);

}  // namespace busbar::views
