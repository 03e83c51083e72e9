// Where the time of a list of flows went, packet by packet.
#pragma once

#include <vector>

#include "busbar/lowering/chain_part.h"
#include "busbar/packet/packet_list.h"

namespace busbar::packet {

/// The flow that ended last, and back from each flow to the one that released it: what their software, payload, headers
/// and packets took. The parts sum to the end of that flow. Precondition: all flows of the list have ended.
std::vector<lowering::ChainPart> explain_packets(const routing::Router& router, const program::FlowList& list,
                                                 const PacketResult& result);

}  // namespace busbar::packet
