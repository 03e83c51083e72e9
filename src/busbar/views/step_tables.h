// What stands next to a predicted step: levers, compressions, volumes, a measured step.
#pragma once

#include <vector>

#include "busbar/questions/step_result.h"
#include "busbar/report/document.h"
#include "busbar/step/compression_table.h"
#include "busbar/step/levers.h"
#include "busbar/step/step_gap.h"
#include "busbar/step/traced_step.h"

namespace busbar {

/// `usd_per_day`: of the machine; 0: not known.
Table lever_table(double usd_per_day, const std::vector<Lever>& levers, std::size_t most);
Table compression_table(const CompressionTable& t);
Table volume_table(const std::vector<questions::VolumeResult>& volumes);

/// `traced`: a trace follows, which says where the gap is; no single cause is named then.
Paragraph gap_verdict(const Gap& gap, bool traced);
Table gap_table(const Gap& gap);

/// Where most of the difference is.
Paragraph traced_verdict(const TracedStepGap& gap);
std::vector<Table> traced_tables(const TracedStepGap& gap);

}  // namespace busbar
