// Products that could take the place of a GPU with too little memory.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/units.h"
#include "busbar/spec/catalog.h"

namespace busbar::spec {

struct LargerGpu {
  std::string name;  ///< in catalog/gpus
  Bytes memory{0};
};
/// The GPUs of the same generation (compute capability or architecture) as `part` with more memory than `memory` and at
/// least its bf16 rate, by ascending memory and name. Empty where the generation of `part` is not known.
Result<std::vector<LargerGpu>> larger_gpus(const std::string& part, Bytes memory, const Catalog& catalog);

}  // namespace busbar::spec
