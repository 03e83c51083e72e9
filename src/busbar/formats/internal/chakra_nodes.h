// The nodes of a Chakra trace, independent of the encoding.
#pragma once

#include <cstdint>

#include "busbar/formats/comm_trace.h"

namespace busbar {

struct ChakraNode {
  static constexpr std::uint64_t kNotSaid = UINT64_MAX;
  std::uint64_t type = 0;  ///< NodeType of et_def.proto
  std::uint64_t comm_type = kNotSaid;
  bool on_cpu = false;
  bool leaves_dimensions_out = false;  ///< whether involved_dim contains false
  TracedCollective call;               ///< the collective; `bytes` and times of any node
};

/// Counts the node and keeps it if it is a collective. Without comm_type, the name may tell which collective it is.
void add_node(ChakraNode node, CommTrace& out);

}  // namespace busbar
