#include "busbar/topology/routing_policy.h"

namespace busbar {

const char* name_of(RoutingPolicy policy) {
  switch (policy) {
    case RoutingPolicy::kStatic:
      return "static";
    case RoutingPolicy::kSpray:
      return "spray";
    case RoutingPolicy::kValiant:
      return "valiant";
    case RoutingPolicy::kAdaptive:
      return "adaptive";
  }
  return "?";
}

}  // namespace busbar
