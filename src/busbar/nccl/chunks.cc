// Into how many pieces NCCL cuts a call. The pieces go through its algorithm one after another.
//
// Source: NVIDIA NCCL 2.30.7, src/enqueue.cc (getChunkSize, loop counts), src/init.cc (chunks of NVLS).
#include <algorithm>
#include <bit>
#include <cmath>

#include "busbar/nccl/tuning.h"

namespace busbar::nccl {
namespace {

constexpr std::uint64_t kKi = 1024;

/// One of the eight steps of a channel's buffer, in bytes of payload.
std::uint64_t step_bytes(const NcclComm& c, NcclProtocol p) {
  const std::uint64_t buffer = c.settings.buffers[static_cast<std::size_t>(p)];
  if (p == NcclProtocol::kLl) return buffer > 0 ? buffer / 16 : 32 * kKi;  // half of it is flags
  if (p == NcclProtocol::kLl128) return buffer > 0 ? buffer / 128 * 15 : 576'000;
  return buffer > 0 ? buffer / 8 : 512 * kKi;
}

/// Largest chunk, in bytes, of the trees between NVLS domains.
std::uint64_t nvls_tree_most(const NcclComm& c, float nic_GBps) {
  constexpr float kFast = 96, kGood = 48;
  const std::uint32_t nodes = c.node_count(), local = c.most_local_ranks();
  const std::uint64_t customary = (nodes >= 4 ? 64 : 128) * kKi;
  if (c.least_capability < 100 || c.settings.version < NcclVersion{2, 27} || nic_GBps < kGood) return customary;
  const bool near = c.graphs.nvls.inter_type <= topology::PathType::kPxb;
  if (nodes == 2) {
    if (local <= 4) return 256 * kKi;
    return (local >= 16 || (local <= 8 && near && nic_GBps < kFast) ? 64 : 128) * kKi;
  }
  if (nic_GBps >= kFast) return (local <= 8 ? 256 : local < 32 ? 128 : 64) * kKi;
  return (near ? 64 : 128) * kKi;
}

/// Halves `chunk`, but not below `least`, while a channel has fewer than `chunks` of them.
void halve(std::uint64_t& chunk, std::uint64_t per_channel, double chunks, std::uint64_t least) {
  while (static_cast<double>(per_channel) < chunks * static_cast<double>(chunk) && chunk > least) chunk /= 2;
}

std::uint64_t tree_ll128(const NcclComm& c, std::uint64_t per_channel) {
  const auto local = static_cast<double>(c.ranks / c.node_count());
  const double depth = 1 + std::floor(std::log2(c.node_count())) + .1 * local;
  std::uint64_t chunk = step_bytes(c, NcclProtocol::kLl128);
  halve(chunk, per_channel, depth * 64 / local, 128 * kKi);
  halve(chunk, per_channel, depth * 16 / local, 32 * kKi);
  return chunk;
}

std::uint64_t nvls(const NcclComm& c, const NcclTuning& t, std::uint64_t bytes, std::uint64_t at_once) {
  constexpr float kSlowGBps = 150;
  const float model = t.of(collectives::Collective::kAllReduce, NcclAlgorithm::kNvls, NcclProtocol::kSimple).GBps;
  const std::uint64_t most = c.settings.nvls_chunk > 0 ? c.settings.nvls_chunk : 128 * kKi;
  std::uint64_t chunk = c.node_count() > 1 && model < kSlowGBps ? std::min(most, 32 * kKi) : most;
  if (bytes < 64 * at_once * chunk) chunk = std::min(chunk, 64 * kKi);
  if (bytes < 8 * at_once * chunk) chunk = std::min(chunk, 32 * kKi);
  if (bytes < 2 * at_once * chunk) chunk = std::min(chunk, 16 * kKi);
  return chunk;
}

std::uint64_t nvls_tree(const NcclComm& c, std::uint64_t bytes, std::uint64_t at_once) {
  std::uint64_t chunk = nvls_tree_most(c, least_nic_GBps(c));
  if (c.settings.nvls_tree_chunk > 0) chunk = c.settings.nvls_tree_chunk;
  if (c.settings.nvls_chunk > 0) chunk = std::min(chunk, c.settings.nvls_chunk);
  if (bytes < 16 * at_once * chunk) chunk = std::min(chunk, 128 * kKi);
  if (bytes < 4 * at_once * chunk) chunk = std::min(chunk, 64 * kKi);
  if (bytes < at_once * chunk) chunk = std::min(chunk, 32 * kKi);
  return chunk;
}

}  // namespace

std::uint32_t nccl_pieces(const NcclComm& c, const NcclTuning& t, const NcclChoice& choice, Bytes size) {
  constexpr std::uint64_t kMost = 4096;  // with more pieces, the time to fill and drain a pipeline is negligible
  const std::uint64_t bytes = count(size), channels = std::max(choice.channels, 1u);
  const std::uint64_t heads = std::max(c.graphs.nvls.channels, 1u);
  std::uint64_t chunk = step_bytes(c, choice.protocol), at_once = channels;
  switch (choice.algorithm) {
    case NcclAlgorithm::kTree:
      if (choice.protocol == NcclProtocol::kLl128) chunk = tree_ll128(c, bytes / channels);
      break;
    case NcclAlgorithm::kNvls:
      at_once = channels * heads;
      chunk = nvls(c, t, bytes, at_once);
      break;
    case NcclAlgorithm::kNvlsTree:
      at_once = channels * heads;
      chunk = nvls_tree(c, bytes, at_once);
      break;
    default:
      return 0;
  }
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / (at_once * chunk), 1, kMost));
}

}  // namespace busbar::nccl
