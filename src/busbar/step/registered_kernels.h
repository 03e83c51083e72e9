// What collectives take of the GPU where all those of a purpose run kernels for registered buffers.
#pragma once

#include "busbar/program/program.h"
#include "busbar/topology/topology.h"
#include "busbar/workload/kernels.h"

namespace busbar::step {

/// `contention` of a prepared program. Copy engines take no cores, and kernels that leave the work to switches have as
/// many blocks as NCCL gives them. Other kernels take what NCCL's usual ones take. `cores`: of a GPU; 0: not known.
workload::Contention with_registered_kernels(workload::Contention contention, const program::Program& prepared,
                                             const topology::Topology& topology, std::uint32_t cores);

}  // namespace busbar::step
