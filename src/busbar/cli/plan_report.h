// A plan as JSON and as a document.
#pragma once

#include "busbar/base/json.h"
#include "busbar/cli/request_line.h"
#include "busbar/plan/plan_run.h"
#include "busbar/report/document.h"

namespace busbar {

struct CommonOptions;

double usd_of(const TrainRun& machine, const PlannedLayout& layout);  ///< per step; 0: the machine has no price
double mfu_of(const TrainRun& machine, const PlannedLayout& layout);
/// "TP 4 PP 2 DP 8 ZeRO-1".
std::string short_layout(const LayoutSpec& layout);
/// Empty, with columns for layout, step, MFU, memory and price, and a last one in words.
Table table_of_layouts(std::string title, std::string last);
/// Layout, time, parts, MFU, memory and price of a step.
Json planned_json(const TrainRun& machine, const PlannedLayout& layout);

/// The keys of DESIGN's contract and a few more; everything except `run`.
Json plan_json(const PlanRun& run, const StepRequest& request, const CommonOptions& common);
/// `rows`: how many layouts the tables show.
Document plan_document(const PlanRun& run, const StepRequest& request, const std::string& typed, std::uint32_t rows);

}  // namespace busbar
