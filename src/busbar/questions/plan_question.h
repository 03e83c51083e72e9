// The fastest layout of a model on a machine, with a proof, and why the others are slower.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/plan/plan_run.h"
#include "busbar/plan/space_lists.h"
#include "busbar/predict/predict_options.h"
#include "busbar/questions/context.h"
#include "busbar/questions/gpu_hour.h"
#include "busbar/questions/model_counts.h"
#include "busbar/questions/planned_result.h"
#include "busbar/spec/cluster.h"
#include "busbar/spec/layout_file.h"

namespace busbar::plan {

const Record& record_of(const PlanLists*);

}  // namespace busbar::plan

namespace busbar::questions {

struct PlanRequest {
  std::string cluster, model;
  std::uint32_t gpus = 0;  ///< 0: all
  std::string layout;      ///< a file
  std::string framework;   ///< NAME or NAME:RELEASE: what it runs is searched
  std::optional<std::int64_t> global_batch, seq;
  std::optional<std::string> precision, offload;
  spec::TrainedFlags trained;
  plan::PlanLists lists;
  std::string within;
  double gap = 3, headroom = 5;  ///< percent
  std::uint32_t threads = 1;
  bool pareto = false;
  std::uint32_t rows = 10;
  predict::PredictOptions predict;
  std::string engine = "flow";
  spec::Overrides machine;
};
const Record& record_of(const PlanRequest*);

/// What decides between a layout and the best one.
struct DecidedBy {
  std::string term;
  double best_s = 0, this_s = 0, band_percent = 0;
  std::string command;
};
const Record& record_of(const DecidedBy*);

struct PlanRow {
  PlannedStep step;
  double lower_bound_s = 0;
  bool tie = false;
  std::string lost_because, command;
  std::optional<std::uint32_t> gpus_per_domain;
  bool within_memory_error = false;
  std::optional<DecidedBy> decided_by;
};
const Record& record_of(const PlanRow*);

/// Layouts that were not timed, by reason.
struct PrunedLayouts {
  std::uint64_t refused = 0, memory = 0, bound = 0;
};
const Record& record_of(const PrunedLayouts*);

/// What every search says.
struct PlanSearch {
  std::string cluster;
  std::uint32_t gpus = 0;
  std::string model, engine, inputs_hash;
  ModelCounts model_parameters;
  bool fits = true, complete = false;
  std::uint64_t searched = 0;
  PrunedLayouts pruned;
  std::uint64_t timed = 0;
};
const Record& record_of(const PlanSearch*);

/// The fastest timed layout that a program runs, in its own words.
struct ProgramLine {
  std::string program;
  std::optional<std::uint64_t> row;  ///< among `layouts`, from 1; empty: it runs none of them
  std::optional<double> step_time_s;
  std::string flags, remark;
};
const Record& record_of(const ProgramLine*);

/// Of a search that found a layout that fits.
struct PlanResult {
  PlanSearch search;
  PlanRow best;
  double lower_bound_s = 0, proven_s = 0, gap_percent = 0, tie_percent = 0;
  std::uint64_t capacity_bytes = 0;
  std::vector<std::string> fixed;
  std::uint64_t tied = 1;
  std::vector<ProgramLine> programs;
  std::vector<PlanRow> layouts, pareto;
  bool pareto_proven = false;
  std::vector<double> band_percent;
  std::string band_basis;
  GpuHour gpu_hour;
  Json of_run;        ///< seconds of the search
  plan::PlanRun run;  ///< for views only
};
const Record& record_of(const PlanResult*);

/// The layout that needs least memory, and is still too large.
struct LeastLayout {
  PlannedStep step;
  std::uint64_t capacity_bytes = 0;
};
const Record& record_of(const LeastLayout*);

/// Of a search that found nothing that fits.
struct PlanNothing {
  PlanSearch search;
  std::optional<PlanRow> best;  ///< always empty, as the lists below
  std::optional<double> lower_bound_s, proven_s, gap_percent;
  std::vector<PlanRow> layouts, pareto;
  std::vector<ProgramLine> programs;
  LeastLayout least;
  std::vector<FitResult> would_fit;
  std::string verdict;
  int exit_status = 1;
  Json of_run;
  plan::PlanRun run;  ///< for views only
};
const Record& record_of(const PlanNothing*);

using PlanAnswer = std::variant<PlanResult, PlanNothing>;
Result<PlanAnswer> answer(const PlanRequest& request, const Context& context = {});

}  // namespace busbar::questions
