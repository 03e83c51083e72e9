// What failures cost: of a step over a long run, or of a collective while parts are lost or slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/predict/predict_options.h"
#include "busbar/questions/checkpoint_request.h"
#include "busbar/questions/context.h"
#include "busbar/questions/gpu_hour.h"
#include "busbar/questions/layout_result.h"
#include "busbar/spec/scenario.h"
#include "busbar/survive/part_loss.h"

namespace busbar::survive {

const Record& record_of(const GoodputAsk*);
const Record& record_of(const SparePolicy*);

}  // namespace busbar::survive

namespace busbar::questions {

struct SurviveRequest {
  std::string scenario;
  std::string from;  ///< file of a job in the words of another program
  spec::ScenarioFlags flags;
  std::uint32_t gpus = 0;  ///< 0: all
  bool parts = false;
  std::string op, size = "1G";  ///< of a collective instead of a step
  survive::GoodputAsk goodput;
  predict::PredictOptions predict;
  std::string engine = "flow";
  spec::Overrides machine;
  bool explain = false;
};
const Record& record_of(const SurviveRequest*);

/// Shares of the time.
struct LostTime {
  double checkpoint = 0, restart = 0, rework = 0, slower = 0;
};
const Record& record_of(const LostTime*);

struct CheckpointCost {
  double bytes = 0;
  std::optional<double> storage_GBps;
  double write_s = 0, links_save_s = 0;
  std::string bound_by;
  double stop_s = 0, interval_s = 0, interval_steps = 0, young_interval_s = 0;
};
const Record& record_of(const CheckpointCost*);

struct RecoveryTime {
  double detect = 0, restart = 0, load = 0;
};
const Record& record_of(const RecoveryTime*);

struct SpareCubesResult {
  std::uint64_t cubes = 0, spares = 0;
  double switching_s = 0, initialisation_s = 0, events_per_day = 0, event_s = 0;
  std::optional<double> event_usd;
};
const Record& record_of(const SpareCubesResult*);

struct SlowServers {
  double chance = 0, step_time_s = 0;
};
const Record& record_of(const SlowServers*);

struct CauseOfEnd {
  std::string name, part;
  std::uint64_t parts = 0;
  double events_per_part_year = 0, events_per_day = 0, share = 0;
  bool network = false;
  std::string source;
};
const Record& record_of(const CauseOfEnd*);

struct LeverResult {
  std::string what;
  double goodput = 0;
};
const Record& record_of(const LeverResult*);

struct PartLossResult {
  std::string part, kind;
  std::uint64_t alike = 0;
  std::string state;
  std::optional<double> time_s, cost_percent;
  bool ends_job = false, switch_off = false;
  std::optional<double> lost_h;
  std::optional<std::string> why_not;
};
const Record& record_of(const PartLossResult*);

/// A step in a run of many.
struct SurviveStepResult {
  bool fits = true;
  double goodput = 0, goodput_low = 0, goodput_high = 0, interruptions_per_day = 0, mtti_h = 0, network_share = 0;
  LostTime lost;
  std::optional<double> lost_usd_per_day;
  GpuHour gpu_hour;
  CheckpointCost checkpoint;
  RecoveryTime recovery_s;
  std::uint64_t spare_servers = 0;
  double servers_in_repair = 0;
  std::optional<SpareCubesResult> spare_cubes;
  SlowServers slow_servers;
  double step_time_s = 0;
  std::optional<double> run_days, run_usd;
  std::string failures;
  std::vector<CauseOfEnd> causes;
  std::vector<LeverResult> levers;
  std::vector<survive::SparePolicy> policies;
  LayoutResult layout;
  std::optional<std::vector<PartLossResult>> rows;  ///< empty: `parts` was not asked for
  std::optional<bool> complete;
  std::string engine, inputs_hash;
  int exit_status = 0;
  std::optional<Error> refused;  ///< why the step does not fit
  // For views only:
  step::TrainRun step;
  survive::GoodputRun run;
  std::optional<survive::PartLosses> losses;
};
const Record& record_of(const SurviveStepResult*);

/// A collective over all GPUs.
struct SurviveCallResult {
  double time_s = 0;
  std::vector<PartLossResult> rows;
  std::string engine;
  bool complete = true;
  std::string inputs_hash;
  // For views only:
  std::string cluster;
  survive::PartLosses losses;
};
const Record& record_of(const SurviveCallResult*);

using SurviveResult = std::variant<SurviveStepResult, SurviveCallResult>;
Result<SurviveResult> answer(const SurviveRequest& request, const Context& context = {});

}  // namespace busbar::questions
