// What a layout trains and how, in the words of its keys.
#pragma once

#include <cstddef>

#include "busbar/workload/adapters.h"
#include "busbar/workload/optimizer.h"

namespace busbar::workload {

/// By value.
inline constexpr const char* kBaseWeightNames[] = {"bf16", "fp8", "nf4", "nvfp4"};
inline constexpr const char* kOptimizerNames[] = {"adamw", "sgd", "lion", "adafactor", "muon"};
inline constexpr const char* kMomentNames[] = {"fp32", "bf16", "fp8", "int8", "int4", "nvfp4"};
inline constexpr const char* kMuonTpNames[] = {"blockwise", "duplicated"};

inline const char* name_of(BaseWeights b) { return kBaseWeightNames[static_cast<std::size_t>(b)]; }
inline const char* name_of(OptimizerKind k) { return kOptimizerNames[static_cast<std::size_t>(k)]; }
inline const char* name_of(MomentKind m) { return kMomentNames[static_cast<std::size_t>(m)]; }

}  // namespace busbar::workload
