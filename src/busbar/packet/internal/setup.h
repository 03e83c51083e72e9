// Settings computed before the first packet, for lists of flows and for the online engine alike.
#pragma once

#include <span>

#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/wiring.h"

namespace busbar::packet {

/// The scale of the routes in use. `full`, `header`: bytes of a packet and of an acknowledgement.
Scale scale_of(const Wiring& wiring, std::span<const std::uint32_t> routes, std::uint64_t full, std::uint64_t header);
/// The width of buckets that hold a handful of arrivals at full load.
int bucket_bits(const Wiring& wiring);
/// Packet-hops without retransmissions. Source of the share of acknowledgements: one for four packets.
double expected_hops(const Wiring& wiring, const program::FlowList& list, std::span<const std::uint32_t> routes,
                     std::uint32_t payload);
/// Refuses runs that would take too long. Source of the rate: bench/run packet, the slowest case on a busy machine.
Status check_patience(double hops, double patience_s);
/// Refuses flows that are copied through host memory, which packets do not model.
Status check_copies(const routing::Router& router, const program::FlowList& list);
/// The defaults of a transport on this network, changed by `options`. Errors: kUnsupported if GPUs forward traffic of
/// others, and for faults that the transport does not support.
Result<Profile> profile_for(const Wiring& wiring, const PacketOptions& options, const Scale& scale);

}  // namespace busbar::packet
