// The machines that a block consists of: one server, or the servers of a rack that is one scale-up domain.
#pragma once

#include <span>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::nccl {

/// Whether the block is several machines under switches: its CPUs are not all joined by links between sockets.
bool is_several_machines(const topology::Topology& topology, const topology::Block& block);

/// The devices of the machines on which `gpus` are, ascending, without the switches of their scale-up domain. Devices
/// are on one machine if links other than those between GPUs and switches join them, or if they have one NUMA number.
/// Pre: the GPUs are in one block.
std::vector<topology::DeviceId> devices_of_machines(const topology::Topology& topology,
                                                    std::span<const topology::DeviceId> gpus);

}  // namespace busbar::nccl
