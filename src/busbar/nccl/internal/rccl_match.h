// Which of RCCL's models matches a node, and the rings and trees that follow from it.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/rome_models.cc.
#pragma once

#include <optional>

#include "busbar/nccl/graph.h"

namespace busbar::nccl {

/// Sets ring, tree and model if the node matches one of RCCL's models; if not, leaves `graphs` unchanged. RCCL tells
/// models with the same links apart by the order of bus ids, which a topology does not have. So a model with the GPUs
/// in their own order precedes one with other numbers, and one with equal NUMA nodes precedes one that ignores them.
void match_rccl_model(const NcclSystem& system, const NcclSettings& settings, NcclGraphs& graphs);

}  // namespace busbar::nccl
