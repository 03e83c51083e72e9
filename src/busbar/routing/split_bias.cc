#include "busbar/routing/split_bias.h"

#include <algorithm>
#include <cmath>

namespace busbar::routing {

SplitBias bias_away(const topology::Topology& t, SplitBias bias, std::span<const double> load, double power) {
  const auto fabric = [&](std::uint32_t l) {
    return topology::is_fabric(t.link_class(static_cast<topology::LinkId>(l)).kind);
  };
  bias.resize(t.link_count(), 1.0F);
  std::vector<double> busy;
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (load[l] > 0 && fabric(l)) busy.push_back(load[l]);
  if (busy.empty()) return bias;
  const auto middle = busy.begin() + static_cast<std::ptrdiff_t>(busy.size() / 2);
  std::nth_element(busy.begin(), middle, busy.end());         // so factors as a whole neither rise nor fall
  const double median = std::log2(*middle), far = 2 * power;  // a link without load gets this much more
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    if (!fabric(l)) continue;
    const double step = load[l] > 0 ? std::clamp(power * (median - std::log2(load[l])), -far, far) : far;
    bias[l] = std::clamp(bias[l] * static_cast<float>(std::exp2(step)), 1 / kMostBias, kMostBias);
  }
  return bias;
}

}  // namespace busbar::routing
