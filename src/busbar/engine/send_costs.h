// Costs of one send beside its wires, the same for fluids, messages and packets.
#pragma once

#include <span>

#include "busbar/program/flow_list.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/router.h"

namespace busbar {

/// The costs of `protocol`. kSimple, kAuto and a protocol that `model` does not have: its steps, without flags.
ProtocolCosts costs_of(const ProtocolModel& model, Protocol protocol);

/// Overhead of a send from one GPU to another over `path`. Between servers the path does not matter.
Duration send_overhead(const ProtocolCosts& costs, const Topology& topology, DeviceId from, DeviceId to,
                       std::span<const LinkShare> path);

RateShares rate_shares(const ProtocolModel& model);

}  // namespace busbar
