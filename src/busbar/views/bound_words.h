// A bound in words.
#pragma once

#include <string>

#include "busbar/engine/engine.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// "the bandwidth of ndr 4x (node0.nic3->leaf3)"; in short: "bandwidth, ndr 4x".
std::string bound_to_text(const Bound& bound, const Topology& topology);
std::string bound_in_short(const Bound& bound, const Topology& topology);

}  // namespace busbar
