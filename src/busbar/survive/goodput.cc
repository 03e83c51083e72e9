#include "busbar/survive/goodput.h"

#include <algorithm>
#include <cmath>

#include "busbar/base/normal.h"

namespace busbar::survive {

double young_interval(const CheckpointTerms& t) { return std::max(t.least_s, std::sqrt(2 * t.save_s * t.mtti_s)); }

double daly_interval(const CheckpointTerms& t) {
  const double m = t.mtti_s, c = t.save_s;
  if (c >= 2 * m) return std::max(t.least_s, m);
  const double x = c / (2 * m);
  return std::max(t.least_s, std::sqrt(2 * c * m) * (1 + std::sqrt(x) / 3 + x / 9) - c);
}

double whole_steps(double interval_s, double step_s, double least_s) {
  const double fewest = std::max(1.0, std::ceil(least_s / step_s - 1e-9));
  return step_s * std::max(fewest, std::round(interval_s / step_s));
}

Goodput goodput(const CheckpointTerms& t, double tau) {
  Goodput out;
  const double m = t.mtti_s;
  const double all = m * std::exp(t.restart_s / m) * std::expm1((tau + t.save_s) / m) / tau;  // of one useful second
  out.useful = 1 / all;
  out.checkpoint = t.save_s / tau * out.useful;
  out.restart = -std::expm1(-t.restart_s / m);  // a failure during a restart begins another restart
  out.rework = std::max(0.0, 1 - out.useful - out.checkpoint - out.restart);
  return out;
}

std::uint64_t spares_for(double mean, double confidence) {
  double term = std::exp(-mean), sum = term;
  if (term > 0) {
    std::uint64_t n = 0;
    while (sum < confidence && term > 0) sum += term *= mean / static_cast<double>(++n);
    return n;
  }
  // a Poisson law of such a mean is normal
  return static_cast<std::uint64_t>(std::ceil(mean + normal_quantile(confidence) * std::sqrt(mean)));
}

double chance_of_any(double share, std::uint64_t n) { return -std::expm1(static_cast<double>(n) * std::log1p(-share)); }

}  // namespace busbar::survive
