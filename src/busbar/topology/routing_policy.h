// How a fabric chooses among equal paths. An attribute of the machine; the Router obeys it.
#pragma once

#include <cstdint>

namespace busbar {

enum class RoutingPolicy : std::uint8_t {
  kStatic,    ///< every flow keeps one path; ties by a hash of (flow, switch)
  kSpray,     ///< equal split over all shortest paths
  kValiant,   ///< equal split over detours of at most twice the shortest length (dragonflies and tori)
  kAdaptive,  ///< split re-solved by the engine; routed as kSpray until an engine says otherwise
};
constexpr RoutingPolicy kLastRoutingPolicy = RoutingPolicy::kAdaptive;
const char* name_of(RoutingPolicy policy);  ///< "static", "spray", ...

}  // namespace busbar
