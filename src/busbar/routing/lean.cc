#include "busbar/routing/lean.h"

#include <algorithm>
#include <cmath>

namespace busbar {

Lean lean_away(const Topology& t, Lean lean, std::span<const double> load_ps) {
  constexpr float kMost = 1e6F;
  constexpr float kIdle = 2;  // a link without load draws so much more strongly the next time
  lean.resize(t.link_count(), 1.0F);
  double most = 0;
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (is_fabric(t.link_class(static_cast<LinkId>(l)).kind)) most = std::max(most, load_ps[l]);
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    if (most == 0 || !is_fabric(t.link_class(static_cast<LinkId>(l)).kind)) continue;
    // Half of the way in the logarithm, for the links before and behind on a path move as well.
    const float step = load_ps[l] > 0 ? std::sqrt(static_cast<float>(most / load_ps[l])) : kIdle;
    lean[l] = std::clamp(lean[l] * std::min(step, kIdle), 1 / kMost, kMost);
  }
  return lean;
}

}  // namespace busbar
