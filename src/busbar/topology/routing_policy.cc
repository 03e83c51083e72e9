#include "busbar/topology/routing_policy.h"

#include <iterator>

namespace busbar::topology {

const char* name_of(RoutingPolicy policy) {
  constexpr const char* kNames[] = {"static", "spray", "valiant", "adaptive"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(RoutingPolicy::kAdaptive) + 1);
  return kNames[static_cast<std::size_t>(policy)];
}

}  // namespace busbar::topology
