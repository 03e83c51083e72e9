#include "busbar/nccl/algorithms.h"

#include <algorithm>

#include "busbar/base/check.h"

namespace busbar {

const char* name_of(NcclAlgorithm a) {
  constexpr const char* kNames[] = {"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT", "P2P"};
  return kNames[static_cast<std::size_t>(a)];
}
const char* name_of(NcclProtocol p) {
  constexpr const char* kNames[] = {"LL", "LL128", "Simple"};
  return kNames[static_cast<std::size_t>(p)];
}

bool is_nccl_tuned(Collective op) {
  return std::find(std::begin(kNcclTuned), std::end(kNcclTuned), op) != std::end(kNcclTuned);
}

std::size_t nccl_place(Collective op) {
  BUSBAR_CHECK(is_nccl_tuned(op)) << name_of(op) << " is not in NCCL's tables";
  return static_cast<std::size_t>(std::find(std::begin(kNcclTuned), std::end(kNcclTuned), op) -
                                  std::begin(kNcclTuned));
}

}  // namespace busbar
