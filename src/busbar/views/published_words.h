// Published training runs next to a predicted step.
#pragma once

#include <string>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/step/published_runs.h"

namespace busbar::views {

/// "Published runs most like it reach 420 to 500 TFLOP/s per GPU; this step 368: 20 % below their middle."
std::string published_words(const std::vector<step::PublishedRun>& like, const step::TrainRun& run);
report::Table published_table(const std::vector<step::PublishedRun>& like);

}  // namespace busbar::views
