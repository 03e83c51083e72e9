// How a call is spread over channels: the orders of rings and trees, so that each channel enters and leaves every
// server by a NIC of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/builders.h"
#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar {

/// Orders of the members of `call` for its rings, one per channel; empty when one channel in natural order uses every
/// NIC. In every server (scale-up domain of `per_domain` consecutive members) channel c begins at a member whose NIC
/// for it no other channel has; it goes on upwards, or downwards where only the member below shares that NIC. There are
/// as many channels as the server with the fewest NICs has, at most `most` (0: no limit). Source: what NCCL 2.30.7
/// arrives at on servers with rails (src/graph/search.cc; crossNic 0). Cost: linear in the ranks of all groups x NICs
/// of a server, plus orders x members.
std::vector<std::vector<std::uint32_t>> ring_orders(const CollectiveCall& call, const Topology& topology,
                                                    const Placement& placement, std::uint32_t per_domain,
                                                    std::uint32_t most);

/// Trees of reducing switches and their limits: as many trees as GPUs have NICs, no more than the switches hold.
void limit_trees(const CollectiveCall& call, const Topology& topology, const Placement& placement, ScheduleSpec& spec);

}  // namespace busbar
