// RCCL's own forecast and choice, for AMD GPUs; tune_nccl and choose_nccl call them.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/tuning.cc, src/enqueue.cc, src/misc/rccl_wrap.cc.
#pragma once

#include "busbar/nccl/internal/rccl_tables.h"
#include "busbar/nccl/tuning.h"

namespace busbar::nccl {

/// The constants of the model that the nodes match; without a model, those of their GPUs.
const RcclConstants& rccl_constants(const NcclComm& comm);
NcclTuning tune_rccl(const NcclComm& comm);
Result<NcclChoice> choose_rccl(const NcclComm& comm, const NcclTuning& tuning, collectives::Collective op, Bytes bytes,
                               const NcclForced& forced);

/// Grouped sends and receives of S = `bytes`: the channels of one message, and LL for small messages.
NcclChoice nccl_point_to_point(const NcclComm& comm, collectives::Collective op, std::uint64_t bytes);

}  // namespace busbar::nccl
