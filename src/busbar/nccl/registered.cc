#include "busbar/nccl/registered.h"

#include <algorithm>
#include <cmath>

namespace busbar::nccl {
namespace {

using enum NcclKernelWay;
using enum collectives::Collective;

constexpr NcclSymmetricKernel kKernels[] = {
    {"AllReduce_AGxLL_R", kAllReduce, kOneShot, true},
    {"AllReduce_AGxLLMC_R", kAllReduce, kOneShot, true, true},
    {"AllReduce_RSxTmaLD_AGxTmaST", kAllReduce, kDirect, false, false, true},
    {"AllReduce_RSxLD_AGxST", kAllReduce, kDirect},
    {"AllReduce_RSxLDMC_AGxSTMC", kAllReduce, kSwitch, false, true},
    {"AllGather_LL", kAllGather, kFlags, true},
    {"AllGather_LLMC", kAllGather, kFlags, true, true},
    {"AllGather_TmaST", kAllGather, kDirect, false, false, true},
    {"AllGather_ST", kAllGather, kDirect},
    {"AllGather_TmaSTMC", kAllGather, kSwitch, false, true, true},
    {"AllGather_STMC", kAllGather, kSwitch, false, true},
    {"ReduceScatter_LL", kReduceScatter, kFlags, true},
    {"ReduceScatter_TmaLD", kReduceScatter, kDirect, false, false, true},
    {"ReduceScatter_LD", kReduceScatter, kDirect},
    {"ReduceScatter_LDMC", kReduceScatter, kSwitch, false, true},
};

constexpr NcclVersion kSymmetricSince{2, 27}, kCopiesSince{2, 28}, kLargeCopiesSince{2, 29};
constexpr std::uint32_t kMostBlocks = 64;
constexpr std::uint64_t kMostFlagBytes = std::uint64_t{2} << 30, kMostBusBytes = std::uint64_t{64} << 30;

bool is_blackwell(const NcclComm& c) { return c.least_capability >= 100; }

double softmin(double x, double c, double s) { return c - s * std::log1p(std::expm1(c / s) * std::exp(-x / s)); }
double softplus(double x, double s) { return std::max(x, 0.0) + s * std::log1p(std::exp(-std::abs(x) / s)); }

/// NCCL's count of bytes per call; `b` are those of one rank: S, or S / n where ranks have pieces.
double bus_bytes(const NcclSymmetricKernel& k, double n, double b) {
  if (k.flags) return 9 * n * b;
  if (k.op != kAllReduce) return (n - 1) * b;
  return k.way == kSwitch ? b / n + b : 2 * b * (n - 1) / n;
}

double multiplier(const NcclSymmetricKernel& k, double n) {
  if (k.flags) return k.multicast ? 1.1 : 1;
  if (!k.multicast) return 1;
  return k.op == kAllReduce ? n : .55 * n;
}

double base_us(const NcclSymmetricKernel& k, bool blackwell) {
  if (!blackwell) return k.flags ? 4.5 : 7.8;
  if (k.flags) return k.op == kAllGather ? 8.5 : 11;
  return k.op == kAllReduce ? 19.5 : 13;
}

std::uint32_t most_blocks(const NcclSymmetricKernel& k, const NcclComm& c) {
  if (!k.multicast || k.flags) return kMostBlocks;
  return multicast_blocks(c.ranks, c.least_capability);
}

/// Whether all pairs of ranks are next to each other by NVLink.
bool joined_directly(const NcclComm& c) {
  return c.node_count() == 1 && c.graphs.ring.intra_type == topology::PathType::kNvl;
}

bool reduces(collectives::Collective op) { return op == kAllReduce || op == kReduceScatter; }

std::uint64_t bytes_per_rank(collectives::Collective op, const NcclComm& c, std::uint64_t bytes) {
  return op == kAllReduce ? bytes : bytes / std::max(c.ranks, 1u);
}

bool exists(const NcclSymmetricKernel& k, const NcclComm& c, std::uint64_t bytes) {
  const NcclBuffers& b = c.settings.registered;
  if (k.multicast && (!c.nvls || c.ranks <= 2)) return false;
  if (k.tma && (!b.tma || !is_blackwell(c))) return false;
  return !k.flags || bytes < kMostFlagBytes;
}

std::optional<NcclKernel> copies(const NcclComm& c, collectives::Collective op, std::uint64_t bytes) {
  const NcclBuffers& b = c.settings.registered;
  const NcclVersion v = c.settings.version;
  const bool can = op == kAllGather || op == kAllToAll || op == kGather || op == kScatter;
  if (!can || v < kCopiesSince || b.registration != Registration::kSymmetric) return {};
  const std::uint64_t elements = bytes_per_rank(op, c, bytes) / std::max(b.elements.bytes, 1u);
  const bool large = v >= kLargeCopiesSince && is_blackwell(c) && op == kAllGather && elements > b.copy_elements;
  if (b.cta_policy != CtaPolicy::kZero && !large) return {};
  return NcclKernel{"Copy Engine", kCopies, 0, 0};
}

/// The least of forecast x (1 + 0.025 CTAs).
std::optional<NcclKernel> symmetric(const NcclComm& c, collectives::Collective op, std::uint64_t bytes,
                                    bool flags_only) {
  const NcclBuffers& b = c.settings.registered;
  std::optional<NcclKernel> best;
  double least = 0;
  for (const NcclSymmetricKernel& k : kKernels) {
    if (k.op != op || !exists(k, c, bytes) || (flags_only && !k.flags)) continue;
    if (!b.kernel.empty() && b.kernel != k.name) continue;
    const std::uint32_t blocks = symmetric_blocks(k, c, bytes);
    const float us = symmetric_forecast_us(k, c, bytes, blocks);
    const double cost = us * (1 + .025 * blocks);
    if (best && cost >= least) continue;
    best = NcclKernel{k.name, k.way, blocks, us};
    least = cost;
  }
  return best;
}

std::string_view missing(const NcclComm& c, collectives::Collective op, std::uint64_t bytes) {
  const NcclBuffers& b = c.settings.registered;
  if (c.settings.version < kSymmetricSince) return "symmetric memory exists since NCCL 2.27";
  if (c.shapes.front().system.amd_gpus) return "RCCL has no such kernels";
  if (!b.windows) return "NCCL_WIN_ENABLE=0 switches windows off";
  if (!joined_directly(c)) return "the GPUs are not all joined directly by NVLink";
  if (reduces(op) && !b.elements.symmetric_sums) return "symmetric kernels add only floating point, with sum or avg";
  if (static_cast<double>(bytes_per_rank(op, c, bytes)) * c.ranks >= static_cast<double>(kMostBusBytes))
    return "64 GiB and more are not for symmetric kernels";
  return {};
}

}  // namespace

std::uint32_t multicast_blocks(std::uint32_t ranks, int compute_capability) {
  const std::uint32_t all = compute_capability >= 100 ? 32 : 16;
  return (all + ranks - 1) / std::max(ranks, 1u);
}

std::span<const NcclSymmetricKernel> symmetric_kernels() { return kKernels; }

float symmetric_forecast_us(const NcclSymmetricKernel& k, const NcclComm& c, std::uint64_t bytes,
                            std::uint32_t blocks) {
  constexpr double kGiBPerUs = 1073.74;  // GiB/s in bytes per us
  const bool blackwell = is_blackwell(c);
  const double n = c.ranks, b = static_cast<double>(bytes_per_rank(k.op, c, bytes));
  const double one = blackwell ? 55 : k.op == kAllReduce ? 65 : 44;
  const bool sums_in_switch = k.op == kAllReduce && k.way == kSwitch;
  const double peak = sums_in_switch ? (blackwell ? 1000 : 480) : (blackwell ? 600 : 320);
  const double rate = softmin(blocks * one * multiplier(k, n), peak, one) * kGiBPerUs;
  return static_cast<float>(base_us(k, blackwell) + softplus(bus_bytes(k, n, b) / rate - 1, 1));
}

/// The fewest whose forecast is within 2.5 % of that with the most.
std::uint32_t symmetric_blocks(const NcclSymmetricKernel& k, const NcclComm& c, std::uint64_t bytes) {
  if (c.settings.registered.blocks > 0) return c.settings.registered.blocks;
  const std::uint32_t most = most_blocks(k, c), least = std::clamp(c.settings.min_channels, 1u, most);
  const float best = symmetric_forecast_us(k, c, bytes, most);
  for (std::uint32_t n = least; n < most; ++n)
    if (symmetric_forecast_us(k, c, bytes, n) <= 1.025f * best) return n;
  return most;
}

std::optional<NcclKernel> choose_kernel(const NcclComm& c, collectives::Collective op, Bytes bytes, bool takes_ll,
                                        std::string_view& why_not) {
  why_not = {};
  const NcclBuffers& b = c.settings.registered;
  const bool windows = b.registration == Registration::kSymmetric;
  const bool forced = !b.kernel.empty() || b.without_window;
  if (c.ranks < 2 || (!windows && !forced)) return {};
  why_not = missing(c, op, count(bytes));
  if (!why_not.empty()) return {};
  if (auto engine = copies(c, op, count(bytes))) return engine;
  if (op != kAllReduce && op != kAllGather && op != kReduceScatter) {
    why_not = "symmetric kernels exist for all_reduce, all_gather and reduce_scatter";
    return {};
  }
  auto best = symmetric(c, op, count(bytes), !windows);
  if (!best) why_not = "NCCL_SYM_KERNEL names a kernel that this call cannot take";
  if (best && !windows && b.kernel.empty() && !takes_ll) return {};
  return best;
}

/// Source: NVIDIA NCCL 2.30.7, src/transport/nvls.cc; one CTA serves one head, which is one GPU of the node.
std::uint32_t registered_nvls_channels(const NcclComm& c, collectives::Collective op) {
  const std::uint32_t heads = std::max(c.most_local_ranks(), 1u);
  const bool blackwell = is_blackwell(c), several = c.node_count() > 1;
  const auto per_head = [&](std::uint32_t all) { return (all + heads - 1) / heads; };
  if (several) {
    constexpr float kFastNic = 96;  // GB/s
    if (op == kAllReduce && blackwell) return per_head(least_nic_GBps(c) >= kFastNic ? 80 : 56);
    return per_head(48);
  }
  if (op == kAllReduce) return per_head(blackwell ? 64 : 32);
  if (op == kReduceScatter) return per_head(blackwell ? 48 : 40);
  return per_head(32);
}

}  // namespace busbar::nccl
