// A collective on several machines: one table per size, or with several numbers of GPUs the map of the fastest
// algorithms.
#pragma once

#include "busbar/questions/compare_question.h"
#include "busbar/report/document.h"

namespace busbar::views {

report::Document compare_calls_document(const questions::CompareCalls& result);

}  // namespace busbar::views
