// A bound in words.
#pragma once

#include <string>

#include "busbar/engine/engine.h"
#include "busbar/topology/topology.h"

namespace busbar::views {

/// "the bandwidth of ndr 4x (node0.nic3->leaf3)"; in short: "bandwidth, ndr 4x".
std::string bound_to_text(const lowering::Bound& bound, const topology::Topology& topology);
std::string bound_in_short(const lowering::Bound& bound, const topology::Topology& topology);

}  // namespace busbar::views
