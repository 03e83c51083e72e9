// A step and its variants in columns.
#pragma once

#include <vector>

#include "busbar/report/document.h"
#include "busbar/step/beside_run.h"

namespace busbar::views {

/// "dgx-b200:64 takes 36 % less time than as asked: 6.13 instead of 9.63 s. ..."
report::Highlight beside_verdict(const step::TrainRun& asked, const std::vector<step::BesideRun>& besides);
/// One column each, beginning with the scenario itself; parts that are zero in all columns are omitted.
report::Table beside_table(const step::TrainRun& asked, const std::vector<step::BesideRun>& besides);

}  // namespace busbar::views
