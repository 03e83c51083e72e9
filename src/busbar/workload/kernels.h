// Kernel times of one GPU in a training step, from measured curves instead of one factor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/units.h"
#include "busbar/program/program.h"
#include "busbar/workload/layout.h"

namespace busbar::workload {

/// A share of the dense 16-bit peak at x; linear between points, constant outside.
struct EfficiencyPoint {
  double x = 0;
  double share = 0;
};

/// Matrix products in one precision.
struct MatrixRates {
  double peak_flops_per_s = 0;  ///< dense, data sheet; 0: this GPU has no such units
  double best_share = 0;        ///< the best GEMM's share of it, all memory traffic hidden
  double sustained_share = 1;   ///< of that rate, on a GPU under load for hours: what its power limit allows
};

/// Cores that kernels of expert exchanges take from computation. Source: deepseek-ai/DeepEP, README (2025): 20 of an
/// H800's 132; the profile of deepseek-ai/profile-data runs GEMMs on the other 112.
constexpr double kExchangeCores = 20;

/// Share of a GPU's compute that a running collective takes from concurrent kernels, by purpose.
struct Contention {
  double tp = 0, dp = 0, pp = 0, cp = 0, ep = 0;
  double of(program::OpClass c) const;
};

struct KernelTable {
  std::string name;
  MatrixRates bf16, fp8, fp4, int8;  ///< fp16 counts as bf16
  std::uint32_t cores = 0;  ///< streaming multiprocessors or the like: tiles run in waves over them; 0: no waves
  std::vector<EfficiencyPoint> attention_forward;  ///< x: heads x sequences x (length / 4096); causal FLOPs
  std::vector<EfficiencyPoint> attention_backward;
  double attention_small_heads = 1;     ///< factor on both curves for heads of 64 elements or fewer
  double attention_8bit = 1;            ///< rate in 8 bits against 16
  double attention_flash2 = 1;          ///< largest share of the peak for FlashAttention-2
  double attention_flash1 = 1;          ///< the same for first-generation fused kernels
  std::uint32_t attention_block = 128;  ///< queries and keys of a block of scores, which is computed whole
  std::uint32_t matrix_unit = 0;        ///< side of a systolic array: shorter sides of products count as this; 0: none
  double memory_bytes_per_s = 0;        ///< HBM, data sheet
  double memory_share = 0;              ///< share of it that memory-bound kernels reach
  std::vector<EfficiencyPoint>
      memory_by_size;       ///< factor on memory_share by log10(bytes): short kernels fill and drain; empty: 1
  Duration launch;          ///< host time per kernel; matters if kernels are shorter
  double jitter_share = 0;  ///< standard deviation of one GPU's step time, of its mean
  double optimizer_bytes_per_parameter = 0;  ///< HBM traffic of the Adam step per parameter of the shard
  double host_bytes_per_s = 0;               ///< from this GPU to host memory; set from the machine. 0: unknown
  std::uint32_t scale_up_gpus = 1;           ///< GPUs of an NVLink domain or the like; set from the machine
  double host_memory_bytes_per_s = 0;        ///< this GPU's part of the host memory's rate
  std::uint32_t host_ranks = 0;              ///< rank r's host memory is rank host_ranks + r; 0: copies are delays
  Contention contention;
  double band_low_percent = 0, band_high_percent = 0;  ///< of compute time: its uncertainty
  std::string band_basis;
  std::vector<std::string> sources;  ///< one line per figure: what, value, source, confidence
  std::string text;                  ///< as read, for inputs_hash

  const MatrixRates& rates(Precision p) const;
  std::array<MatrixRates*, 4> all_rates() { return {&bf16, &fp8, &fp4, &int8}; }
  /// C[m,n] = A[m,k] B[k,n] in `precision`, written in 16 bits. `extra_bytes`: traffic besides reading A and B and
  /// writing C once. Tiles run in waves over the cores. Loading the first and storing the last tile of a wave is not
  /// hidden, so the time of memory traffic adds to that of the products.
  /// `groups`: equal products in one kernel (grouped GEMM), whose tiles share waves. `extra_bytes` is of all.
  Duration gemm_time(std::uint64_t m, std::uint64_t n, std::uint64_t k, Precision precision = Precision::kBf16,
                     double extra_bytes = 0, std::uint32_t groups = 1) const;
  /// Causal attention core. `parts` ranks share each of the `sequences` sequences evenly (context parallelism).
  Duration attention_time(AttentionKernel kernel, std::uint32_t heads, std::uint32_t seq, std::uint32_t head_dim,
                          std::uint32_t sequences, std::uint32_t parts, bool backward) const;
  /// A kernel limited by HBM.
  Duration memory_time(double bytes) const;
};

/// Linear between points of ascending x; constant outside. Precondition: not empty.
double share_at(const std::vector<EfficiencyPoint>& curve, double x);

}  // namespace busbar::workload
