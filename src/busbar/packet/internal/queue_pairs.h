// Several queue pairs per connection: a transfer between servers is cut into equal parts that take their own paths.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/packet_list.h"
#include "busbar/topology/topology.h"

namespace busbar::packet {

/// As the settings say; 1 by default.
std::uint32_t queue_pairs_of(const PacketOptions& options);

struct CutList {
  program::FlowList list;
  std::vector<std::uint32_t> first;  ///< per flow of the whole list: its first part; one more entry at the end
};
/// Parts are multiples of 128 bytes, so small transfers have fewer: NCCL, src/transport/net_ib.cc, with
/// NCCL_IB_SPLIT_DATA_ON_QPS=1. A flow waits for all parts of its predecessors. Work and transfers inside a server stay
/// whole, as do those of switches that reduce.
CutList cut_for_queue_pairs(const program::FlowList& whole, const topology::Topology& topology,
                            std::uint32_t queue_pairs);

/// `options` for the list of parts: samples of `series` are those of whole flows, and log entries name flow and part.
/// `cut` must live as long as the result.
PacketOptions watch_parts(const CutList& cut, const PacketOptions& options);

/// Makes the outcomes of parts those of the whole flows: the part that ends last counts.
/// `alone`: per whole flow, its time on an idle network.
void join_parts(const CutList& cut, const std::vector<Duration>& alone, PacketResult& result);

}  // namespace busbar::packet
