// A step with batches of many sizes, in results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/step_result.h"
#include "busbar/step/batches_run.h"

namespace busbar::questions {

struct BatchPoint {
  std::string change, cluster;
  std::uint32_t global_batch = 0, micro_batches = 0;
  double step_time_s = 0, tokens_per_s_per_gpu = 0, mfu = 0, efficiency = 1;
  double exposed_tp_percent = 0, exposed_dp_percent = 0, idle_percent = 0;
  StepSeconds breakdown_s;
};
const Record& record_of(const BatchPoint*);

struct ClaimResult {
  std::string change, cluster, measure, said_of;
  double low_percent = 0, high_percent = 0;
  bool holds = false;
  std::optional<std::uint32_t> from_batch, to_batch;
  bool reaches_below = false, reaches_above = false;
  double least_percent = 0, most_percent = 0;
};
const Record& record_of(const ClaimResult*);

struct BatchesAnswer {
  std::string model;
  std::vector<BatchPoint> points;
  std::vector<ClaimResult> claims;
  std::string claims_source, engine;
  bool complete = true;
  // For views only:
  step::BatchesRun run;
};
const Record& record_of(const BatchesAnswer*);

BatchesAnswer batches_answer(step::BatchesRun run, std::string engine, bool complete);

}  // namespace busbar::questions
