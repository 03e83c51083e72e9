#include "busbar/step/jitter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace busbar::step {

double expected_slowest(double share, std::uint32_t gpus) { return 1 + share * expected_maximum(gpus); }

double StepLaw::expected() const {
  const double slowest = expected_slowest(share, gpus);
  return slowest * ((1 - slow_chance) * step_s + slow_chance * slow_s) + delays * delay_s;
}

Duration StepLaw::mean_of(Duration balanced) const {
  StepLaw other = *this;
  other.step_s = balanced.in_s();
  if (slow_chance > 0) other.slow_s = slow_s / step_s * other.step_s;
  return duration_from_ps(other.expected() * 1e12);
}

double StepLaw::below(double seconds) const {
  const auto of = [&](double step) {  // steps that take `step` without jitter, with k delays
    double sum = 0, chance = std::exp(-delays), seen = chance;
    const double most = delays + 40 * std::sqrt(delays + 1);
    for (double k = 0; k < most; chance *= delays / ++k, seen += chance) {
      const double z = share <= 0 ? 0 : ((seconds - k * delay_s) / step - 1) / share;
      const double all = share <= 0 ? (seconds - k * delay_s >= step ? 1 : 0)
                                    : std::exp(gpus * std::log1p(-std::erfc(z / std::numbers::sqrt2) / 2));
      sum += chance * all;
      if (seen > 1 - 1e-12 || all == 0) break;
    }
    return sum;
  };
  return (1 - slow_chance) * of(step_s) + (slow_chance > 0 ? slow_chance * of(slow_s) : 0);
}

double StepLaw::quantile(double p) const {
  double low = 0, high = std::max(step_s, slow_s) * (1 + 40 * share) + (delays + 40 * std::sqrt(delays + 1)) * delay_s;
  for (int i = 0; i < 100 && high - low > 1e-10 * high; ++i) {
    const double middle = (low + high) / 2;
    (below(middle) < p ? low : high) = middle;
  }
  return high;
}

}  // namespace busbar::step
