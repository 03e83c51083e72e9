// Paths in a node's graph, with NCCL's corrections where traffic must not, or need not, take the direct path.
#pragma once

#include "busbar/nccl/system.h"

namespace busbar::nccl {

/// Fills every table of `system`. Rules, in order: breadth-first search from each end (lower type, then more bandwidth,
/// then fewer hops); peers too far apart go through host memory; chip-to-chip links to the CPU that owns the NIC (P2C,
/// since 2.27); sending only, over NVLink to the GPU next to the NIC (PXN); NICs that may not access a GPU's memory go
/// through host memory. Cost: O(ends x links).
void compute_nccl_paths(NcclSystem& system, const NcclSettings& settings);

}  // namespace busbar::nccl
