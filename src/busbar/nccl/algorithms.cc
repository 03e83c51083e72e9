#include "busbar/nccl/algorithms.h"

#include <algorithm>

#include "busbar/base/check.h"

namespace busbar::nccl {

namespace {

struct Names {
  const char* nccl;
  const char* schedule;
  bool by_schedule;  ///< no other algorithm has that schedule
};
/// In the order of NcclAlgorithm.
constexpr Names kNames[] = {{"Tree", "tree", true},
                            {"Ring", "ring", true},
                            {"CollNetDirect", "sharp", false},
                            {"CollNetChain", "sharp", false},
                            {"NVLS", "nvls", true},
                            {"NVLSTree", "hierarchical(nvls,tree)", true},
                            {"PAT", "pat", true},
                            {"P2P", "direct", false}};

bool equal_in_small_letters(std::string_view letters, std::string_view small) {
  return std::equal(letters.begin(), letters.end(), small.begin(), small.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

}  // namespace

const char* name_of(NcclAlgorithm a) { return kNames[static_cast<std::size_t>(a)].nccl; }
const char* schedule_name(NcclAlgorithm a) { return kNames[static_cast<std::size_t>(a)].schedule; }

std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i].by_schedule && (name == kNames[i].schedule || equal_in_small_letters(kNames[i].nccl, name)))
      return static_cast<NcclAlgorithm>(i);
  return std::nullopt;
}

const char* name_of(NcclProtocol p) {
  constexpr const char* kNames[] = {"LL", "LL128", "Simple"};
  return kNames[static_cast<std::size_t>(p)];
}

bool is_nccl_tuned(collectives::Collective op) {
  return std::find(std::begin(kNcclTuned), std::end(kNcclTuned), op) != std::end(kNcclTuned);
}

std::size_t nccl_place(collectives::Collective op) {
  BUSBAR_CHECK(is_nccl_tuned(op)) << collectives::name_of(op) << " is not in NCCL's tables";
  return static_cast<std::size_t>(std::find(std::begin(kNcclTuned), std::end(kNcclTuned), op) - std::begin(kNcclTuned));
}

}  // namespace busbar::nccl
