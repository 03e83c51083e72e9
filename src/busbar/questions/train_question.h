// One training step: its time, parts, memory and price; or the same step over sizes, batches or layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/base/record.h"
#include "busbar/plan/fit_changes.h"
#include "busbar/plan/space_lists.h"
#include "busbar/predict/predict_options.h"
#include "busbar/questions/batches_result.h"
#include "busbar/questions/checkpoint_request.h"
#include "busbar/questions/context.h"
#include "busbar/questions/gap_result.h"
#include "busbar/questions/gpu_hour.h"
#include "busbar/questions/job_file.h"
#include "busbar/questions/lists_result.h"
#include "busbar/questions/packet_request.h"
#include "busbar/questions/planned_result.h"
#include "busbar/questions/question.h"
#include "busbar/questions/scale_result.h"
#include "busbar/questions/step_changes.h"
#include "busbar/questions/step_result.h"
#include "busbar/spec/scenario.h"
#include "busbar/step/beside_run.h"
#include "busbar/step/published_runs.h"

namespace busbar::step {

const Record& record_of(const StepSettings*);

}  // namespace busbar::step

namespace busbar::questions {

struct TrainRequest {
  std::string scenario;  ///< file, or the machine
  std::string from;      ///< file of a job in the words of another program
  spec::ScenarioFlags flags;
  plan::PlanLists lists;
  std::uint32_t gpus = 0;
  std::vector<std::string> beside;
  std::string measured;
  bool compressions = false;
  step::StepSettings settings;
  std::string scale, scaling = "both", batches;
  double usd_per_gpu_hour = 0;
  bool brief = false;
  std::string trace;
  std::uint32_t checkpoint_every = kNone32;  ///< steps; kNone32: none
  survive::CheckpointAsk checkpoint;
  PacketRun packets;
  std::optional<std::int64_t> threads;
  predict::PredictOptions predict;
  std::string engine = "flow";
  spec::Overrides machine;
  bool page = false, explain = false;
  std::string typed;  ///< the command line, for the commands of rows; empty: none
};
const Record& record_of(const TrainRequest*);

/// A variant in its column.
struct BesideAnswer {
  std::string change;
  bool folded = true;
  StepAnswer step;
};
const Record& record_of(const BesideAnswer*);

/// One step, and its variants.
struct TrainStep {
  StepAnswer step;
  GpuHour gpu_hour;
  std::vector<step::FreePart> if_free;
  std::vector<step::Lever> levers;
  std::optional<JobFile> from;
  std::optional<std::vector<FitResult>> would_fit;
  std::optional<step::CompressionTable> compressions;
  std::optional<CheckpointResult> checkpoint;
  std::optional<GapResult> measured;
  std::vector<BesideAnswer> beside;
  std::optional<bool> complete;
  std::optional<std::vector<std::string>> shortcuts;
  int exit_status = 0;
  std::optional<Error> refused;  ///< why it does not fit
  Json of_run;
  std::string last_words;
  std::vector<OutputFile> files;
  // For views only:
  std::shared_ptr<const step::TrainRun> run;
  std::vector<step::BesideRun> besides;
  bool changes_left_out = false;  ///< no levers and no free parts: the machine is large, and they were not asked for
  std::optional<step::ScaleRun> sizes;  ///< of the machine, for a page
  std::vector<plan::FitChange> fit_changes;
  std::vector<step::PublishedRun> like;  ///< the most similar published runs
  std::optional<survive::CheckpointRun> saved;
  std::optional<step::TracedStepGap> traced;
};
const Record& record_of(const TrainStep*);

using TrainResult = std::variant<TrainStep, ScaleAnswer, BatchesAnswer, ListsAnswer>;

Result<TrainResult> answer(const TrainRequest& request, const Context& context = {});

}  // namespace busbar::questions
