// What a step sends, by purpose: the table that tells which level of links each kind of parallelism loads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/step/train_run.h"

namespace busbar::questions {

/// Calls of one purpose, operation and number of ranks.
struct Volume {
  program::OpClass cls{};
  collectives::Collective op{};
  std::uint32_t ranks = 0;   ///< of a group
  double calls_per_gpu = 0;  ///< in one step, mean over all GPUs
  double message_bytes = 0;  ///< S of a call, mean
  double bytes_per_gpu = 0;  ///< sent by one GPU in one step, mean; as rings and direct sends have it
  std::string level;         ///< "scale-up links", "inside a node", "network" or "host memory"
  std::uint8_t tier = 0;     ///< of the highest switch between its ranks; 0: none outside servers
  std::string links;         ///< the farthest it needs: "NVLink", "PCIe", "InfiniBand, spine"
};

/// In the order of the breakdown, the largest first within a purpose.
std::vector<Volume> step_volumes(const step::TrainRun& run);

/// Sent by one GPU, as a factor of S: "(n-1)/n S".
const char* law_of(collectives::Collective op);

}  // namespace busbar::questions
