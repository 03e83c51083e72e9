// One layout on machines of many sizes, as a document.
#pragma once

#include <string>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/step/scale_run.h"

namespace busbar {

/// "one server", "two tiers".
std::string level_words(const ScalePoint& point);
/// "From 32 GPUs on, communication of data parallelism is exposed."; precondition: the curve has a point.
std::string hiding_words(const ScaleRun& run, bool weak);
/// Where a curve leaves a level and where it rises, in sentences; empty: nowhere.
std::string remarks_on(const ScaleRun& run, bool weak);
/// How many GPUs of `other` are as fast as each size of `run`: "4 (8.2 k tokens/s): 8".
Table crossings(const ScaleRun& run, const ScaleRun& other, bool weak);
/// All runs one after another, the scenario itself first.
Document scale_document(const std::vector<ScaleRun>& runs);

}  // namespace busbar
