// The constants of RCCL's cost model, per kind of machine. Latencies in microseconds.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/tuning.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "busbar/nccl/algorithms.h"

namespace busbar {

using RcclRow = std::array<float, kNcclProtocols>;  ///< LL, LL128, Simple

/// For trees or for rings.
struct RcclSteps {
  RcclRow xgmi, net;             ///< latency of a step
  RcclRow few_nodes, many_nodes;  ///< share of the bus bandwidth that is reached, up to two nodes and beyond
  std::array<std::string_view, kNcclProtocols> by_size;  ///< tenths of that at 2^q x 64 bytes, see rccl_share
};
struct RcclConstants {
  RcclSteps tree, ring;
};

inline constexpr RcclRow kRcclBase{12, 12, 17};      ///< once per call
inline constexpr RcclRow kRcclPcie{2.2f, 2.2f, 5.7f};  ///< a step over PCIe

/// `row`: as a model's `tuning`, 0 to 7.
const RcclConstants& rccl_constants(int row);
/// Row of GPUs of that LLVM target where no model says another.
int rccl_row(std::string_view target);
/// Share of the bandwidth at `bytes`.
float rccl_share(const RcclSteps& steps, NcclProtocol protocol, std::uint64_t bytes);

}  // namespace busbar
