#include "busbar/workload/kernels.h"

#include <algorithm>

#include "busbar/base/check.h"

namespace busbar {
namespace {

constexpr double kPsPerSecond = 1e12;

/// Flash attention recomputes the scores: 2.5 times the forward's FLOPs.
/// Source: benchmarks/benchmark_flash_attention.py of Dao-AILab/flash-attention.
constexpr double kBackwardFlopsRatio = 2.5;
constexpr double kReferenceSequence = 4096;

/// No kernel runs this long; longer ones come from nonsensical input, which build_program() refuses by name.
constexpr double kLongestKernelSeconds = 1000;

Duration kernel_duration(double seconds) {
  return duration_from_ps(std::min(seconds, kLongestKernelSeconds) * kPsPerSecond);
}

}  // namespace

double Contention::of(OpClass c) const {
  switch (c) {
    case OpClass::kTp:
      return tp;
    case OpClass::kDp:
      return dp;
    case OpClass::kPp:
      return pp;
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

Duration KernelTable::gemm_time(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::uint64_t extra_bytes) const {
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  double share = share_at(gemm, flops);
  for (const MeasuredShape& s : gemm_shapes) {
    if (s.n == n && s.k == k && m >= s.m_min) share = s.share;
  }
  const double bytes = 2.0 * static_cast<double>(m * k + k * n + m * n) + static_cast<double>(extra_bytes);
  const double seconds =
      std::max(flops / (peak_flops_per_s * sustained_share * share), bytes / (memory_bytes_per_s * memory_share));
  return kernel_duration(seconds);
}

Duration KernelTable::attention_time(std::uint32_t heads, std::uint32_t seq, std::uint32_t head_dim,
                                     std::uint32_t sequences, bool backward) const {
  const double s = seq;
  const double forward_flops = 2.0 * s * s * heads * head_dim * sequences;  // causal: half of 4 s^2 H d
  const double work = static_cast<double>(heads) * sequences * (s / kReferenceSequence);
  const double flops = backward ? kBackwardFlopsRatio * forward_flops : forward_flops;
  const double share = share_at(backward ? attention_backward : attention_forward, work);
  return kernel_duration(flops / (peak_flops_per_s * sustained_share * share));
}

Duration KernelTable::memory_time(double bytes) const {
  return kernel_duration(bytes / (memory_bytes_per_s * memory_share));
}

}  // namespace busbar
