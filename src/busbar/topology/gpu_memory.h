// The memory of a machine's GPUs.
#pragma once

#include <algorithm>
#include <string>

#include "busbar/topology/topology.h"

namespace busbar::topology {

/// The least memory of a GPU. Pre: there is a GPU.
inline Bytes gpu_memory(const Topology& t) {
  Bytes least = t.device_class(t.gpus().front()).memory;
  for (const DeviceId gpu : t.gpus()) least = std::min(least, t.device_class(gpu).memory);
  return least;
}

/// "HBM", "GDDR6X", of the first GPU; "memory" where the kind is not known. Pre: there is a GPU.
inline std::string gpu_memory_kind(const Topology& t) {
  const std::string& kind = t.device_class(t.gpus().front()).memory_kind;
  return kind.empty() ? "memory" : kind;
}

/// "GPU memory (HBM)"
inline std::string gpu_memory_in_words(const Topology& t) {
  const std::string& kind = t.device_class(t.gpus().front()).memory_kind;
  return kind.empty() ? "GPU memory" : "GPU memory (" + kind + ")";
}

}  // namespace busbar::topology
