#include "busbar/step/jitter.h"

#include <cmath>

namespace busbar {

double expected_slowest(double share, std::uint32_t gpus) { return 1 + share * expected_maximum(gpus); }

double slowest_quantile(double share, std::uint32_t gpus, double p) {
  if (gpus == 0) return 1;
  const double below = -std::expm1(std::log(p) / gpus);  // 1 - p^(1/gpus)
  return 1 - share * normal_quantile(below);
}

}  // namespace busbar
