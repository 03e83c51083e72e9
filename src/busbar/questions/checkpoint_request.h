// Checkpoints of a step, in requests and results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/survive/checkpoint_run.h"

namespace busbar::survive {

const Record& record_of(const CheckpointAsk*);

}  // namespace busbar::survive

namespace busbar::questions {

/// What a checkpoint every so many steps costs.
struct CheckpointResult {
  std::uint64_t every_steps = 0;
  double bytes = 0, most_bytes_per_gpu = 0;
  std::optional<double> storage_GBps;
  double save_s = 0, load_s = 0, links_save_s = 0;
  std::string bound_by;
  double copy_s = 0, stop_s = 0, slowed_steps_share = 0, share_of_time = 0;
};
const Record& record_of(const CheckpointResult*);

CheckpointResult checkpoint_result(const survive::CheckpointRun& run, std::uint64_t steps, double step_s);

}  // namespace busbar::questions
