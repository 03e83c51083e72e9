#include "busbar/formats/internal/chakra_nodes.h"

#include <fmt/core.h>

#include <array>

namespace busbar::formats {
namespace {

void name_collective(std::uint64_t comm_type, TracedCollective& c, CommTrace& out) {
  static constexpr collectives::Collective kOps[] = {
      collectives::Collective::kAllReduce,    collectives::Collective::kReduce,
      collectives::Collective::kAllGather,    collectives::Collective::kGather,
      collectives::Collective::kScatter,      collectives::Collective::kBroadcast,
      collectives::Collective::kAllToAll,     collectives::Collective::kReduceScatter,
      collectives::Collective::kReduceScatter};
  if (comm_type < std::size(kOps))
    c.op = kOps[comm_type];
  else if (comm_type == ChakraNode::kNotSaid)
    c.op = collective_in(c.name);
  else if (comm_type != 9)  // barrier
    add_unknown(out.unknown, 0, fmt::format("comm_type {}", comm_type));
}

/// Memory and metadata nodes take no time.
TraceNode trace_node(const ChakraNode& n, const std::string& kind) {
  TraceNode out;
  out.id = n.id;
  out.after = n.after;
  out.call = n.call;
  out.call.on_gpu = !n.on_cpu;
  out.tag = n.tag;
  out.peer = kind == "send" ? n.dst : n.src;
  out.kind = kind == "send"         ? TraceNodeKind::kSend
             : kind == "receive"    ? TraceNodeKind::kReceive
             : kind == "collective" ? TraceNodeKind::kCollective
                                    : TraceNodeKind::kWork;
  if (kind == "compute") out.work = duration_from_ps(n.call.duration_us * 1e6);
  return out;
}

}  // namespace

void add_node(ChakraNode node, CommTrace& out, std::vector<TraceNode>* nodes) {
  static constexpr std::array kTypes{"invalid", "metadata", "memory_load", "memory_store",
                                     "compute", "send",     "receive",     "collective"};
  const bool known = node.type < kTypes.size();
  const std::string kind = known ? kTypes[node.type] : fmt::format("type {}", node.type);
  ++out.events;
  ++out.kinds[kind];
  if (!known) add_unknown(out.unknown, 0, "node " + kind);
  if (kind == "send") ++out.sends, out.bytes_sent += node.call.bytes;
  if (kind == "receive") ++out.receives;
  if (nodes != nullptr) {
    if (kind == "collective") name_collective(node.comm_type, node.call, out);
    nodes->push_back(trace_node(node, kind));
    return;
  }
  if (kind != "collective") return;
  if (node.leaves_dimensions_out) add_unknown(out.unknown, 0, "involved_dim that leaves dimensions out");
  node.call.on_gpu = !node.on_cpu;
  name_collective(node.comm_type, node.call, out);
  out.collectives.push_back(std::move(node.call));
}

}  // namespace busbar::formats
