// A step in every combination of lists, in results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/plan/lists_run.h"
#include "busbar/questions/layout_result.h"
#include "busbar/questions/step_result.h"

namespace busbar::questions {

/// Of a layout that does not fit, all times are empty.
struct ListedStep {
  LayoutResult layout;
  std::optional<double> step_time_s;
  std::optional<std::int64_t> step_time_ps;
  std::optional<double> balanced_step_time_s;
  std::optional<double> mfu;
  std::uint64_t memory_bytes = 0;
  std::optional<double> usd_per_step;
  std::optional<StepSeconds> breakdown_s;
  bool fits = true;
  std::string no_fit_because, command;
};
const Record& record_of(const ListedStep*);

struct RefusedResult {
  std::string because;
  std::uint64_t combinations = 0;
};
const Record& record_of(const RefusedResult*);

struct ListsAnswer {
  std::string cluster, model, engine, inputs_hash;
  std::uint64_t combinations = 0, timed = 0, no_fit = 0;
  bool complete = true;
  std::uint64_t memory_capacity_bytes = 0;
  std::vector<ListedStep> layouts;
  std::vector<RefusedResult> not_possible;
  std::vector<double> band_percent;  ///< low, high
  std::string band_basis;
  int exit_status = 0;
  // For views only:
  plan::ListsRun run;
};
const Record& record_of(const ListsAnswer*);

/// `command`: the command line of a row.
ListsAnswer lists_answer(plan::ListsRun run, std::string inputs_hash,
                         const std::function<std::string(const plan::ListedLayout&)>& command);

}  // namespace busbar::questions
