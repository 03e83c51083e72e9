#include "busbar/workload/trained_names.h"

#include <cstddef>

namespace busbar::workload {

const char* name_of(BaseWeights b) {
  static constexpr const char* kNames[] = {"bf16", "fp8", "nf4"};
  return kNames[static_cast<std::size_t>(b)];
}

const char* name_of(OptimizerKind k) {
  static constexpr const char* kNames[] = {"adamw", "sgd", "lion", "adafactor", "muon"};
  return kNames[static_cast<std::size_t>(k)];
}

const char* name_of(MomentKind m) {
  static constexpr const char* kNames[] = {"fp32", "bf16", "fp8", "int8", "int4"};
  return kNames[static_cast<std::size_t>(m)];
}

}  // namespace busbar::workload
