// The nodes of a Chakra trace, independent of the encoding.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/formats/comm_trace.h"

namespace busbar::formats {

struct ChakraNode {
  static constexpr std::uint64_t kNotSaid = UINT64_MAX;
  std::uint64_t type = 0;  ///< NodeType of et_def.proto
  std::uint64_t comm_type = kNotSaid;
  bool on_cpu = false;
  bool leaves_dimensions_out = false;               ///< whether involved_dim contains false
  std::uint64_t id = 0, src = 0, dst = 0, tag = 0;  ///< src to tag: of sends and receives
  std::vector<std::uint64_t> after;                 ///< ids of control and data dependencies
  TracedCollective call;                            ///< the collective; `bytes` and times of any node
};

/// Counts the node and keeps it if it is a collective. Without comm_type, the name may tell which collective it is.
/// `nodes`: keeps every node too; null: nowhere.
void add_node(ChakraNode node, CommTrace& out, std::vector<TraceNode>* nodes);

/// read_chakra_json() that appends every node to `nodes` instead of its collectives to the trace.
Result<CommTrace> read_chakra_json_nodes(std::istream& in, const std::string& name, std::vector<TraceNode>& nodes);

}  // namespace busbar::formats
