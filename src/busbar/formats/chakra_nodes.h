// What the nodes of a Chakra trace come to, whichever way they are written.
#pragma once

#include <cstdint>

#include "busbar/formats/comm_trace.h"

namespace busbar {

struct ChakraNode {
  static constexpr std::uint64_t kNotSaid = UINT64_MAX;
  std::uint64_t type = 0;  ///< NodeType of et_def.proto
  std::uint64_t comm_type = kNotSaid;
  bool on_cpu = false;
  bool leaves_dimensions_out = false;  ///< involved_dim has a false
  TracedCollective call;               ///< of a collective; `bytes` and the times of every node
};

/// Counts the node, and keeps it where it is a collective. Where it has no comm_type, its name may tell which.
void add_node(ChakraNode node, CommTrace& out);

}  // namespace busbar
