// A plan as JSON and as a document.
#pragma once

#include "busbar/base/json.h"
#include "busbar/plan/plan_run.h"
#include "busbar/questions/request_line.h"
#include "busbar/report/document.h"

namespace busbar {

struct CommonOptions;

/// Layout, time, parts, MFU, memory and price of a step.
Json planned_json(const TrainRun& machine, const PlannedLayout& layout);

/// The keys of DESIGN's contract and a few more; everything except `run`.
Json plan_json(const PlanRun& run, const StepRequest& request, const CommonOptions& common);
/// `rows`: how many layouts the tables show.
Document plan_document(const PlanRun& run, const StepRequest& request, const std::string& typed, std::uint32_t rows);

}  // namespace busbar
