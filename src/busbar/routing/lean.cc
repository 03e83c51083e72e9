#include "busbar/routing/lean.h"

#include <algorithm>
#include <cmath>

namespace busbar {

Lean lean_away(const Topology& t, Lean lean, std::span<const double> load, double power) {
  const auto fabric = [&](std::uint32_t l) { return is_fabric(t.link_class(static_cast<LinkId>(l)).kind); };
  lean.resize(t.link_count(), 1.0F);
  std::vector<double> busy;
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (load[l] > 0 && fabric(l)) busy.push_back(load[l]);
  if (busy.empty()) return lean;
  const auto middle = busy.begin() + static_cast<std::ptrdiff_t>(busy.size() / 2);
  std::nth_element(busy.begin(), middle, busy.end());         // so that leans as a whole neither rise nor fall
  const double median = std::log2(*middle), far = 2 * power;  // a link without load draws so much more the next time
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    if (!fabric(l)) continue;
    const double step = load[l] > 0 ? std::clamp(power * (median - std::log2(load[l])), -far, far) : far;
    lean[l] = std::clamp(lean[l] * static_cast<float>(std::exp2(step)), 1 / kMostLean, kMostLean);
  }
  return lean;
}

}  // namespace busbar
