// The constants of RCCL's cost model, per kind of machine. Latencies are in microseconds.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/tuning.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "busbar/nccl/algorithms.h"

namespace busbar::nccl {

using RcclRow = std::array<float, kNcclProtocols>;  ///< LL, LL128, Simple

/// Constants of trees, or of rings.
struct RcclSteps {
  RcclRow xgmi, net;              ///< latency per step
  RcclRow few_nodes, many_nodes;  ///< reached share of the bus bandwidth, for up to two nodes and for more
  std::array<std::string_view, kNcclProtocols> by_size;  ///< tenths of this share at 2^q x 64 bytes, see rccl_share
};
struct RcclConstants {
  RcclSteps tree, ring;
};

inline constexpr RcclRow kRcclBase{12, 12, 17};        ///< once per call
inline constexpr RcclRow kRcclPcie{2.2f, 2.2f, 5.7f};  ///< per step over PCIe

/// `row` is a model's `tuning`, 0 to 7.
const RcclConstants& rccl_constants(int row);
/// The row for GPUs of this LLVM target, if no model sets another.
int rccl_row(std::string_view target);
/// Share of the bandwidth at `bytes`.
float rccl_share(const RcclSteps& steps, NcclProtocol protocol, std::uint64_t bytes);

}  // namespace busbar::nccl
