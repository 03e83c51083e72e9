#include "busbar/workload/expert_load.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "busbar/base/normal.h"

namespace busbar::workload {
namespace {

/// Expected excess of a normal load of mean 1 over `capacity`: deviation x (phi(z) - z (1 - Phi(z))).
double excess_over(double capacity, double deviation) {
  if (deviation <= 0) return std::max(0.0, 1 - capacity);
  const double z = (capacity - 1) / deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi),
               above = std::erfc(z / std::numbers::sqrt2) / 2;
  return deviation * (density - z * above);
}

/// Standard deviation of the load of one expert.
double expert_deviation(const ModelSpec& m, const LayoutSpec& l) {
  const ExpertSpec& e = m.moe;
  if (l.experts.skew <= 0) return 0;
  // A fair router gives each expert T k / E tokens with the variance of that count; skew 0 is forced balance.
  const double tokens = static_cast<double>(l.routed_tokens()) * l.ep * l.expert_tensor();
  return std::sqrt(l.experts.skew * l.experts.skew + e.experts / (tokens * e.per_token));
}

double rank_deviation(const ModelSpec& m, const LayoutSpec& l) {
  return l.ep > 1 ? expert_deviation(m, l) / std::sqrt(m.moe.experts / l.ep) : 0;
}

/// Masks have all places of an expert, used or not.
double capped(double load, const LayoutSpec& l) {
  if (l.experts.masks) return l.experts.capacity;
  return l.experts.capacity > 0 ? std::min(load, l.experts.capacity) : load;
}

}  // namespace

ExpertLoad expert_load(const ModelSpec& m, const LayoutSpec& l) {
  const ExpertSpec& e = m.moe;
  ExpertLoad out;
  if (e.experts == 0) return out;
  const double rank = rank_deviation(m, l);
  if (rank > 0) {
    out.busiest = capped(1 + rank * expected_maximum(l.ep), l);
    out.busiest_p90 = capped(1 + rank * normal_quantile(std::pow(0.9, 1.0 / l.ep)), l);
  } else {
    out.busiest = out.busiest_p90 = capped(1, l);
  }
  if (l.experts.capacity > 0) out.dropped = excess_over(l.experts.capacity, expert_deviation(m, l));
  return out;
}

std::vector<double> rank_loads(const ModelSpec& m, const LayoutSpec& l) {
  std::vector<double> out(l.ep, capped(1, l));
  const double rank = m.moe.experts == 0 ? 0 : rank_deviation(m, l);
  if (rank == 0 || l.experts.masks) return out;
  std::uint32_t stride = l.ep * 2 / 5 + 1;  // about the golden section: neighbours get distant places in the order
  while (std::gcd(stride, l.ep) != 1) ++stride;
  for (std::uint32_t i = 0; i < l.ep; ++i)
    out[std::uint64_t{i} * stride % l.ep] = capped(1 + rank * normal_quantile((i + 0.625) / (l.ep + 0.25)), l);
  return out;
}

}  // namespace busbar::workload
