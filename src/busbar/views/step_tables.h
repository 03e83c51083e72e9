// What stands next to a predicted step: levers, compressions, volumes, a measured step.
#pragma once

#include <vector>

#include "busbar/questions/step_result.h"
#include "busbar/report/document.h"
#include "busbar/step/compression_table.h"
#include "busbar/step/levers.h"
#include "busbar/step/step_gap.h"
#include "busbar/step/traced_step.h"

namespace busbar::views {

/// `usd_per_day`: of the machine; 0: not known.
report::Table lever_table(double usd_per_day, const std::vector<step::Lever>& levers, std::size_t most);
report::Table compression_table(const step::CompressionTable& t);
report::Table volume_table(const std::vector<questions::VolumeResult>& volumes);

/// `traced`: a trace follows, which says where the gap is; no single cause is named then.
report::Paragraph gap_verdict(const step::Gap& gap, bool traced);
report::Table gap_table(const step::Gap& gap);

/// Where most of the difference is.
report::Paragraph traced_verdict(const step::TracedStepGap& gap);
std::vector<report::Table> traced_tables(const step::TracedStepGap& gap);

}  // namespace busbar::views
