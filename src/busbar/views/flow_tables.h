// Completion times of flows and ends of jobs, as tables and a curve.
#pragma once

#include <vector>

#include "busbar/questions/flow_source.h"
#include "busbar/questions/flow_times.h"
#include "busbar/report/document.h"

namespace busbar::views {

inline constexpr std::size_t kFlowRowsShown = 10;  ///< rows per table of flows or links

/// `penalties`: null: none.
report::Table fct_table(const std::vector<questions::FctOfSize>& by_size,
                        const predict::Penalties* penalties = nullptr);
/// The share of flows that took at most so long. Fewer than two: an empty drawing.
report::Drawing draw_fct(const questions::FlowTimes& times);
report::Table jobs_table(const std::vector<questions::JobEnd>& jobs);

}  // namespace busbar::views
