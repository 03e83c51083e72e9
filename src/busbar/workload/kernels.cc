#include "busbar/workload/kernels.h"

#include <algorithm>
#include <cmath>

#include "busbar/base/check.h"

namespace busbar::workload {
namespace {

/// Flash attention recomputes the scores: 2.5 times the forward's FLOPs.
/// Source: benchmarks/benchmark_flash_attention.py of Dao-AILab/flash-attention.
constexpr double kBackwardFlopsRatio = 2.5;
constexpr double kReferenceSequence = 4096;
constexpr std::uint32_t kSmallHead = 64;

constexpr double kWord = 2, kFloat = 4;  // bytes of bf16 and fp32

/// Output tiles of the usual GEMM kernels, and the speed of each relative to the largest, which reads least per
/// product. Source: CUTLASS documentation, efficient_gemm.md: tile sizes; shares of the smaller ones: our own
/// estimates.
struct Tile {
  double rows, columns, share;
};
constexpr Tile kTiles[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.93}, {64, 64, 0.6}};
constexpr double kShortestSplit = 1024;  // smallest k per part in split-K kernels

// Attention that writes its scores to memory, bytes of HBM traffic per score. Forward: write (2), scale, mask and
// softmax in one kernel (4), read for the product with the values (2). Backward: read them (2), write their gradient
// (2), softmax backward (6), read twice (4). Source: Megatron-LM's fused scaled-masked-softmax; our own count.
constexpr double kScoreBytes = 8, kScoreBackBytes = 14;
constexpr double kBatchedShare = 0.6;  // of the best GEMM's rate, for products of one head's size; our own estimate

/// Blocks on the diagonal of a causal kernel are half empty: 128 of every block of rows. This costs short sequences
/// more. 1 at the reference length. Source: FlashAttention-2 (arXiv:2307.08691), figure 5, decreases in the same way.
double diagonal_share(double seq) {
  constexpr double kBlock = 256;
  return seq / (seq + kBlock) * (kReferenceSequence + kBlock) / kReferenceSequence;
}

/// `n` in whole multiples of `unit`. 0: as it is.
double whole_units(double n, std::uint32_t unit) { return unit == 0 ? n : std::ceil(n / unit) * unit; }

/// Fused kernels exist for heads of 32, 64, 96, 128 elements and a few wider ones; others are padded. On systolic
/// arrays the elements of a head are one side of both products, and fill whole arrays.
/// Source: Dao-AILab/flash-attention, csrc/flash_attn/src: one file per head size.
double padded_head(std::uint32_t head_dim, std::uint32_t unit) {
  constexpr std::uint32_t kStep = 32, kWidest = 128;
  return whole_units(head_dim, unit > 0 ? unit : head_dim > kWidest ? 0 : kStep);
}

// Kernels of the first generation reach their share with both passes together, and less of it backward. Source: Dao
// 2023 (arXiv:2307.08691, recalled): FlashAttention-2 reaches 73 % of an A100 forward and 63 % backward, and is 1.3
// to 1.5 times as fast as Triton's kernel forward and about 2 times backward.
constexpr double kFlash1Forward = 73.0 / 63 * 2 / 1.4;  // its rate, backward 1
constexpr double kFlash1Backward = (1 / kFlash1Forward + kBackwardFlopsRatio) / (1 + kBackwardFlopsRatio);

/// No kernel runs this long. Longer times come from wrong input, which build_program() refuses by name.
constexpr double kLongestKernelSeconds = 1000;

Duration kernel_duration(double seconds) {
  return duration_from_ps(std::min(seconds, kLongestKernelSeconds) * kPsPerSecond);
}

}  // namespace

double Contention::of(program::OpClass c) const {
  switch (c) {
    case program::OpClass::kTp:
      return tp;
    case program::OpClass::kDp:
      return dp;
    case program::OpClass::kPp:
      return pp;
    case program::OpClass::kCp:
      return cp;
    case program::OpClass::kEp:
      return ep;
    default:
      return 0;
  }
}

double share_at(const std::vector<EfficiencyPoint>& curve, double x) {
  BUSBAR_CHECK(!curve.empty()) << "empty efficiency curve";
  if (x <= curve.front().x) return curve.front().share;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const EfficiencyPoint &a = curve[i - 1], &b = curve[i];
    if (x <= b.x) return a.share + (b.share - a.share) * (x - a.x) / (b.x - a.x);
  }
  return curve.back().share;
}

const MatrixRates& KernelTable::rates(Precision p) const {
  switch (p) {
    case Precision::kFp8:
      return fp8;
    case Precision::kFp4:
      return fp4;
    case Precision::kInt8:
      return int8;
    default:
      return bf16;
  }
}

Duration KernelTable::gemm_time(std::uint64_t m, std::uint64_t n, std::uint64_t k, Precision precision,
                                double extra_bytes, std::uint32_t groups) const {
  const MatrixRates& r = rates(precision);
  BUSBAR_CHECK(r.peak_flops_per_s > 0) << name << " has no " << name_of(precision) << " units";
  const double rows = static_cast<double>(m), columns = static_cast<double>(n), inner = static_cast<double>(k);
  const double all = groups * rows * columns;  // elements of C
  const double products = groups * rows * whole_units(columns, matrix_unit) * whole_units(inner, matrix_unit);
  const double math = 2 * products / (r.peak_flops_per_s * r.best_share * r.sustained_share);
  const double in_bytes = precision == Precision::kFp4 ? 0.5 : is_narrow(precision) ? 1 : kWord;
  const double bytes = groups * in_bytes * inner * (rows + columns) + kWord * all + extra_bytes;
  const double memory = bytes / (memory_bytes_per_s * memory_share);
  if (cores == 0) return kernel_duration(math + memory);
  double best = kLongestKernelSeconds;
  for (const Tile& tile : kTiles) {
    for (const double split : {1.0, 2.0, 4.0, 8.0, 16.0}) {  // along k, partial sums in fp32
      if (split > 1 && inner / split < kShortestSplit) break;
      const double tiles = groups * std::ceil(rows / tile.rows) * std::ceil(columns / tile.columns) * split;
      const double waves = std::ceil(tiles / cores);
      const double padded = waves * cores / split * tile.rows * tile.columns / all;
      const double partial = split > 1 ? 2 * kFloat * all * split / (memory_bytes_per_s * memory_share) : 0;
      best = std::min(best, math * padded / tile.share + memory + partial);
    }
  }
  return kernel_duration(best);
}

Duration KernelTable::attention_time(AttentionKernel kernel, std::uint32_t heads, std::uint32_t seq,
                                     std::uint32_t head_dim, std::uint32_t sequences, std::uint32_t parts,
                                     bool backward) const {
  const double s = seq;
  const double all = 4.0 * s * s * heads * head_dim * sequences / parts;  // FLOPs forward, full
  const double ratio = backward ? kBackwardFlopsRatio : 1;
  const double peak = bf16.peak_flops_per_s * bf16.sustained_share;
  if (kernel == AttentionKernel::kUnfused) {  // whole score matrices: batched GEMMs, then memory-bound kernels
    const double products = all * (backward ? 2 : 1) / (peak * bf16.best_share * kBatchedShare);
    const double scores = s * s / parts * heads * sequences;
    return kernel_duration(products +
                           scores * (backward ? kScoreBackBytes : kScoreBytes) / (memory_bytes_per_s * memory_share));
  }
  const double flops = 0.5 * all * ratio * padded_head(head_dim, matrix_unit) / head_dim;  // causal: half
  const double work = static_cast<double>(heads) * sequences * (s / kReferenceSequence) / parts;
  double share = share_at(backward ? attention_backward : attention_forward, work);
  if (head_dim <= kSmallHead) share *= attention_small_heads;
  if (kernel == AttentionKernel::kFlash8) share *= attention_8bit;
  if (kernel == AttentionKernel::kFlash2) share = std::min(share, attention_flash2);
  if (kernel == AttentionKernel::kFlash1)
    share = std::min(share, attention_flash1 * kFlash1Backward * (backward ? 1 : kFlash1Forward));
  return kernel_duration(flops / (peak * share * diagonal_share(s)));
}

Duration KernelTable::memory_time(double bytes) const {
  if (bytes <= 0) return {};
  const double by_size = memory_by_size.empty() ? 1 : share_at(memory_by_size, std::log10(bytes));
  return kernel_duration(bytes / (memory_bytes_per_s * memory_share * by_size));
}

}  // namespace busbar::workload
