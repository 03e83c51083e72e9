// A plan as JSON and as a document.
#pragma once

#include "busbar/base/json.h"
#include "busbar/cli/plan_run.h"
#include "busbar/report/document.h"

namespace busbar {

struct CommonOptions;

/// The keys of DESIGN's contract and a few more; everything except `run`.
Json plan_json(const PlanRun& run, const CommonOptions& common);
/// `rows`: how many layouts the tables show.
Document plan_document(const PlanRun& run, const std::string& typed, std::uint32_t rows);

}  // namespace busbar
