// A measured step against the predicted one, in results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/step/step_gap.h"
#include "busbar/step/traced_step.h"

namespace busbar::step {

const Record& record_of(const GapCause*);
const Record& record_of(const Gap*);
const Record& record_of(const TracedPart*);

}  // namespace busbar::step

namespace busbar::questions {

struct TracedCallResult {
  std::string cls, collective;
  double times = 0, predicted_times = 0;
  std::optional<double> mean_us, fastest_us, predicted_us;
};
const Record& record_of(const TracedCallResult*);

struct TracedResult {
  std::string file;
  std::uint32_t rank = 0;
  std::uint64_t steps = 0;
  double step_time_s = 0, shortest_s = 0, longest_s = 0;
  Named<double> busy_s;
  std::vector<step::TracedPart> parts;
  std::vector<TracedCallResult> calls;
  std::vector<std::string> notes;
};
const Record& record_of(const TracedResult*);

TracedResult traced_result(const step::TracedStepGap& gap);

struct GapResult {
  step::Gap gap;
  std::optional<TracedResult> trace;
};
const Record& record_of(const GapResult*);

}  // namespace busbar::questions
