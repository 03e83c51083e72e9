// Which of RCCL's models a node is, and the rings and trees that RCCL then takes.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/rome_models.cc.
#pragma once

#include <optional>

#include "busbar/nccl/graph.h"

namespace busbar {

/// Sets ring, tree and model where the node is one of RCCL's; else leaves `graphs` as they are. RCCL tells models with
/// the same links apart by the order of bus ids, which a topology does not have: a model with the GPUs in their own
/// order goes before one with other numbers, and one with the same NUMA nodes before one that does not compare them.
void match_rccl_model(const NcclSystem& system, const NcclSettings& settings, NcclGraphs& graphs);

}  // namespace busbar
