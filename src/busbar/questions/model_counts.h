// Sizes of a model, in results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/workload/model.h"

namespace busbar::questions {

/// Layers of one kind.
struct LayersOfModel {
  std::string mixer, mlp;
  std::uint32_t layers = 0;
  std::uint64_t parameters = 0;  ///< of one layer, all its experts
  double flops_per_token = 0;    ///< of one layer, forward, causal
  std::uint64_t cache_per_token = 0, cache_tokens = 0, cache_per_sequence = 0;
};
const Record& record_of(const LayersOfModel*);

struct ModelCounts {
  std::uint64_t total = 0, active = 0, embedding = 0, towers = 0;
  std::vector<LayersOfModel> kinds;
  std::vector<std::string> notes;
};
const Record& record_of(const ModelCounts*);

ModelCounts model_counts(const workload::ModelSpec& model, std::uint32_t seq);

}  // namespace busbar::questions
