// Paths of a node's graph, with NCCL's corrections for what must not or need not go straight.
#pragma once

#include "busbar/nccl/system.h"

namespace busbar {

/// Fills every table of `system`. Rules, in order: breadth first from each end (lower type, then more bandwidth, then
/// fewer hops); peers too far apart go through host memory; chip to chip to the CPU that owns the NIC (P2C, since
/// 2.27); to a NIC over NVLink through the GPU beside it (PXN), sending only; NICs that may not reach a GPU's memory go
/// through host memory. Cost: O(ends x links).
void compute_nccl_paths(NcclSystem& system, const NcclSettings& settings);

}  // namespace busbar
