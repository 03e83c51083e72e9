// How long one GPU takes for the kernels of a training step: measured curves, not one factor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/units.h"
#include "busbar/program/program.h"

namespace busbar {

/// A share of the dense bf16 peak at x; straight lines between points, constant outside.
struct EfficiencyPoint {
  double x = 0;
  double share = 0;
};

/// A GEMM that was measured: C[m,n] = A[m,k] B[k,n], for at least `m_min` rows.
struct MeasuredShape {
  std::uint32_t n = 0, k = 0, m_min = 0;
  double share = 0;
};

/// Share of a GPU's compute that a running collective takes from kernels beside it, by purpose.
struct Contention {
  double tp = 0, dp = 0, pp = 0;
  double of(OpClass c) const;
};

struct KernelTable {
  std::string name;
  double peak_flops_per_s = 0;                     ///< dense bf16
  double sustained_share = 1;                      ///< of the curves, on a GPU under load for hours (free constant)
  std::vector<EfficiencyPoint> gemm;               ///< x: FLOPs of the GEMM
  std::vector<MeasuredShape> gemm_shapes;          ///< these go before the curve
  std::vector<EfficiencyPoint> attention_forward;  ///< x: heads x sequences x (length / 4096); causal FLOPs
  std::vector<EfficiencyPoint> attention_backward;
  double memory_bytes_per_s = 0;             ///< HBM, data sheet
  double memory_share = 0;                   ///< of it that memory-bound kernels reach
  Duration launch;                           ///< host time per kernel; shows where kernels are shorter
  double optimizer_bytes_per_parameter = 0;  ///< HBM traffic of the Adam step per parameter of the shard
  Contention contention;
  Duration step_overhead;                              ///< per step outside all kernels (free constant)
  double band_low_percent = 0, band_high_percent = 0;  ///< of compute time: how far it can be trusted
  std::string band_basis;
  std::vector<std::string> sources;  ///< one line per figure: what, value, source, confidence
  std::string text;                  ///< as read, for inputs_hash

  /// Matrix product in bf16; `extra_bytes` beyond reading A and B and writing C once (fp32 accumulation).
  Duration gemm_time(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::uint64_t extra_bytes = 0) const;
  /// Fused causal attention core of `sequences` sequences on one GPU.
  Duration attention_time(std::uint32_t heads, std::uint32_t seq, std::uint32_t head_dim, std::uint32_t sequences,
                          bool backward) const;
  /// A kernel limited by HBM.
  Duration memory_time(double bytes) const;
};

/// Straight lines between points of ascending x; constant outside. Precondition: not empty.
double share_at(const std::vector<EfficiencyPoint>& curve, double x);

}  // namespace busbar
