// Published training runs, and those of them that are most like a predicted step.
#pragma once

#include <string>
#include <vector>

#include "busbar/step/train_run.h"

namespace busbar::step {

struct PublishedRun {
  std::string gpu, precision, model, series;
  double parameters = 0;
  std::uint32_t gpus = 0;
  double flops_per_s = 0;  ///< model FLOPs per GPU, causal attention
};

/// catalog/accuracy/published.
Result<std::vector<PublishedRun>> load_published_runs(const spec::Catalog& catalog);

/// At most `most` runs on the same GPU in the same precision whose model and number of GPUs are at most four times as
/// large or small, the nearest first. A model with experts, or another GPU: none.
std::vector<PublishedRun> runs_like(const std::vector<PublishedRun>& all, const TrainRun& run, std::size_t most);

}  // namespace busbar::step
