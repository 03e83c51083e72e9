// A step on machines of many sizes, in results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/step_result.h"
#include "busbar/step/scale_run.h"

namespace busbar::questions {

struct SizePoint {
  std::string change, scaling;
  std::uint32_t gpus = 0, dp = 0, global_batch = 0;
  double step_time_s = 0, tokens_per_s_per_gpu = 0, mfu = 0, efficiency = 1, idle_gpus = 0, tokens_per_s = 0;
  std::uint32_t switch_tiers = 0;
  std::optional<std::string> faster_because;
  double exposed_percent = 0, exposed_dp_percent = 0, idle_percent = 0, usd_per_day_per_percent = 0;
  StepSeconds breakdown_s;
};
const Record& record_of(const SizePoint*);

struct SkippedSize {
  std::string change, scaling;
  std::uint32_t gpus = 0, dp = 0;
  std::string reason;
};
const Record& record_of(const SkippedSize*);

struct StopsHiding {
  std::optional<std::uint32_t> weak, strong;
};
const Record& record_of(const StopsHiding*);

/// A machine that --beside names, without its points.
struct OtherSizes {
  std::string cluster, model;
  double usd_per_gpu_hour = 0;
  std::vector<SkippedSize> skipped;
  std::optional<std::string> change;
  StopsHiding stops_hiding_at_gpus;
};
const Record& record_of(const OtherSizes*);

struct ScaleAnswer {
  std::string cluster, model;
  double usd_per_gpu_hour = 0;
  std::vector<SizePoint> points;  ///< of all machines
  std::vector<SkippedSize> skipped;
  std::optional<std::string> change;
  StopsHiding stops_hiding_at_gpus;
  std::vector<OtherSizes> beside;
  std::string engine;
  bool complete = true;
  // For views only:
  std::vector<step::ScaleRun> runs;
};
const Record& record_of(const ScaleAnswer*);

/// Pre: at least one run; the scenario itself is first.
ScaleAnswer scale_answer(std::vector<step::ScaleRun> runs, std::string engine, bool complete);

}  // namespace busbar::questions
