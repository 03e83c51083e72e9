// Published training runs, and those of them that are most like a predicted step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/step/train_run.h"

namespace busbar {

struct PublishedRun {
  std::string gpu, precision, model, series;
  double parameters = 0;
  std::uint32_t gpus = 0;
  double flops_per_s = 0;  ///< model FLOPs per GPU, causal attention
};

/// catalog/accuracy/published.
Result<std::vector<PublishedRun>> load_published_runs(const Catalog& catalog);

/// At most `most` runs on the same GPU in the same precision whose model and number of GPUs are at most four times as
/// large or small, the nearest first. A model with experts, or another GPU: none.
std::vector<PublishedRun> runs_like(const std::vector<PublishedRun>& all, const TrainRun& run, std::size_t most);

/// "Published runs most like it reach 420 to 500 TFLOP/s per GPU; this step 368: 20 % below their middle."
std::string published_words(const std::vector<PublishedRun>& like, const TrainRun& run);
Table published_table(const std::vector<PublishedRun>& like);

}  // namespace busbar
