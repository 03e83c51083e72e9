// Which devices a link entry of a node file connects. Part of node_file.h's work.
//
//   between: [gpu*, "nvswitch[03]"]     all with all; globs
//   between: [gpu#, "pcie#/2"]          the same number, or a rule of it
//   between: [gpu*, gpu*]               a full mesh; `islands: 4`: within each four; `islands: [8, 2]`: 8 by 2
//   between: [a*, b*], planes: [18, 18] only if the numbers are equal modulo 18
//   pairs: [[gpu0, gpu3], [gpu0, gpu4]] as listed
//   torus: gpu*, shape: 4x4x4, full: 4  neighbours along each dimension, closed if its size is a multiple of 4
//     twisted: true                     the rings of short dimensions shift the long ones by half
#pragma once

#include <vector>

#include "busbar/spec/internal/node_file.h"

namespace busbar::spec {

struct LinkPair {
  std::uint32_t a, b;  ///< indices into NodeTemplate::devices
};

/// The pairs of the link entry `map`, in order; empty only if a group of devices has count 0.
Result<std::vector<LinkPair>> link_pairs(const YamlNode& map, const NodeFile& node);

}  // namespace busbar::spec
