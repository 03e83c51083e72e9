// The final channel counts of a communicator.
#pragma once

#include "busbar/nccl/comm.h"

namespace busbar::nccl {

/// Fills channels, nvls_channels, p2p_channels and p2p_channels_per_peer from graphs and settings.
void count_nccl_channels(NcclComm& comm);
/// The same by RCCL's rules, for AMD GPUs.
void count_rccl_channels(NcclComm& comm);

}  // namespace busbar::nccl
