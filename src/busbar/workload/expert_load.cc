#include "busbar/workload/expert_load.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "busbar/base/normal.h"

namespace busbar {
namespace {

/// Expected excess of a normal load of mean 1 over `capacity`: deviation x (phi(z) - z (1 - Phi(z))).
double excess_over(double capacity, double deviation) {
  if (deviation <= 0) return std::max(0.0, 1 - capacity);
  const double z = (capacity - 1) / deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi),
               above = std::erfc(z / std::numbers::sqrt2) / 2;
  return deviation * (density - z * above);
}

}  // namespace

ExpertLoad expert_load(const ModelSpec& m, const LayoutSpec& l) {
  const ExpertSpec& e = m.moe;
  ExpertLoad out;
  if (e.experts == 0) return out;
  // A fair router gives each expert T k / E tokens with the variance of that count; skew 0 is forced balance.
  const double tokens = static_cast<double>(l.routed_tokens()) * l.ep * l.expert_tensor();
  const double noise = e.experts / (tokens * e.per_token);
  const double expert = l.expert_skew <= 0 ? 0 : std::sqrt(l.expert_skew * l.expert_skew + noise);
  const double rank = expert / std::sqrt(e.experts / l.ep);
  if (l.ep > 1 && rank > 0) {
    out.busiest = 1 + rank * expected_maximum(l.ep);
    out.busiest_p90 = 1 + rank * normal_quantile(std::pow(0.9, 1.0 / l.ep));
  }
  if (l.expert_capacity <= 0) return out;
  out.dropped = excess_over(l.expert_capacity, expert);
  out.busiest = std::min(out.busiest, l.expert_capacity);
  out.busiest_p90 = std::min(out.busiest_p90, l.expert_capacity);
  return out;
}

}  // namespace busbar
