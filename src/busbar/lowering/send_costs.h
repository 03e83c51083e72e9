// Costs of one send besides its wires, the same for fluids, messages and packets.
#pragma once

#include <algorithm>

#include "busbar/program/flow_list.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/router.h"

namespace busbar::lowering {

/// The costs of `protocol`. kSimple, kAuto and a protocol that `model` does not have: its steps, without flags.
program::ProtocolCosts costs_of(const program::ProtocolModel& model, program::Protocol protocol);

/// From the start of a call over groups of `ranks` to its first byte; at least 0.
Duration launch_of(const program::ProtocolModel& model, program::Protocol protocol, std::uint32_t ranks);

/// Overhead of a send from one GPU to another over `path`, LinkShares or CapacityShares. Between servers the path does
/// not matter.
template <typename Path>
Duration send_overhead(const program::ProtocolCosts& costs, const topology::Topology& topology, topology::DeviceId from,
                       topology::DeviceId to, const Path& path) {
  if (topology.block_of(from) != topology.block_of(to)) return costs.step_network;
  const auto in_server = [&](const auto& s) {
    return topology::is_in_server(topology.link_class(routing::link_of(s)).kind);
  };
  return std::any_of(path.begin(), path.end(), in_server) ? costs.step_server : costs.step_scale_up;
}

/// Whether a chunk of a ring occupies half of the buffer of its channel. Source: NVIDIA NCCL, src/include/device.h;
/// with flags in the data it occupies an eighth.
inline bool has_slots(program::Protocol p) { return p == program::Protocol::kSimple || p == program::Protocol::kAuto; }

program::RateShares rate_shares(const program::ProtocolModel& model);

}  // namespace busbar::lowering
