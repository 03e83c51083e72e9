// How a fabric chooses among equal paths. The policy is an attribute of the machine; the Router follows it.
#pragma once

#include <cstdint>

namespace busbar::topology {

enum class RoutingPolicy : std::uint8_t {
  kStatic,    ///< every flow keeps one path; ties by a hash of (flow, switch)
  kSpray,     ///< equal split over all shortest paths
  kValiant,   ///< equal split over detours of at most twice the shortest length (dragonflies and tori)
  kAdaptive,  ///< the engine solves for the split; kSpray until it does
};
constexpr RoutingPolicy kLastRoutingPolicy = RoutingPolicy::kAdaptive;
const char* name_of(RoutingPolicy policy);  ///< "static", "spray", ...

}  // namespace busbar::topology
