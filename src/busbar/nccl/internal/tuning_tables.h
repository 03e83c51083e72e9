// The constants of NCCL's cost model, per version. Latencies are in microseconds, bandwidths in GB/s.
//
// Source: NVIDIA NCCL 2.30.7, src/graph/tuning.cc; before 2.23 those of 2.20.3 and 2.22.3. A change between 2.23 and
// 2.27 is dated by its release where that is known, see docs/models/nccl.md.
#pragma once

#include <array>

#include "busbar/nccl/tuning.h"

namespace busbar::nccl {

using NcclRow = std::array<float, 3>;                        ///< LL, LL128, Simple; or 1, 2 and more nodes
using NcclLatencies = std::array<NcclRow, kNcclAlgorithms>;  ///< per algorithm

struct NcclConstants {
  NcclLatencies base;
  NcclLatencies nvlink, pcie, net;  ///< per step
  std::array<NcclRow, 4> ll_most, ring_ll128_channel, tree_ll128_channel, tree_channel, nvls_tree_channel;
  std::array<float, 4> nvls_efficiency;
};

/// The rows are Volta, Ampere, Hopper, Blackwell.
NcclConstants nccl_constants(NcclVersion version);

/// Where the tables hold the figures of a communicator: the generation of its oldest GPU, and 1, 2 or more nodes.
struct NcclTablePlace {
  std::size_t generation = 0, size = 0;
};
NcclTablePlace place_in_tables(const NcclComm& comm);

/// Share of the bandwidth that trees reach at 2^q x 64 bytes. Pre: q < 24.
float tree_correction(NcclProtocol protocol, int q);

}  // namespace busbar::nccl
