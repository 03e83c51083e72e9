#include "busbar/nccl/internal/channel_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace busbar::nccl {
namespace {

std::uint32_t coll_channels(const NcclComm& c) {
  const NcclVersion v = c.settings.version;
  std::uint32_t n = std::min(c.search_channels * 2, kMostNcclChannels);  // the search's channels and their doubles
  const bool uneven = c.graphs.collnet_chain.intra_GBps > c.graphs.collnet_chain.inter_GBps;
  if (c.settings.collnet && uneven && c.ranks > c.node_count()) n = std::min(n + n / 2, kMostNcclChannels);
  if (c.least_capability >= 90 && c.node_count() > 1 && c.graphs.ring.intra_GBps > 45 && n < 16 &&
      v >= NcclVersion{2, 19})
    n *= 2;
  if (c.settings.max_channels > 0) n = std::min(n, c.settings.max_channels);
  return std::max(n, std::min(c.settings.min_channels, kMostNcclChannels));
}

std::uint32_t nvls_channels_by_rule(const NcclComm& c) {
  if (c.least_capability < 100) return 16;
  if (c.settings.version < NcclVersion{2, 27}) return 32;  // sample log of 2.25.1 on one node of 8 B200
  if (c.node_count() == 1) return 24;
  const float nic = least_nic_GBps(c);
  if (c.node_count() == 2 && nic >= 48) return 32;
  if (nic >= 96) return c.most_local_ranks() <= 8 ? 24 : 32;
  return nic >= 48 ? 24 : 32;
}

std::uint32_t nvls_channels(const NcclComm& c) {
  if (!c.nvls) return 0;
  std::uint32_t n = c.settings.nvls_channels != 0 ? c.settings.nvls_channels : nvls_channels_by_rule(c);
  if (c.settings.max_channels > 0) n = std::min(n, c.settings.max_channels);
  return std::max(n, std::min(c.settings.min_channels, kMostNcclChannels));
}

/// Channels that one GPU uses to a peer over the network.
std::uint32_t per_net_peer(const NcclComm& c, const NcclSystem& s, std::uint32_t gpu) {
  if (c.settings.channels_per_peer != 0) return c.settings.channels_per_peer;
  const std::vector<std::uint32_t> local = local_nets(s, gpu);
  if (local.empty()) return 2;
  const auto nics = static_cast<std::uint32_t>(local.size());
  if (c.settings.version >= NcclVersion{2, 28}) {
    constexpr float kPerChannelGBps = 14;  // NCCL_P2P_PER_CHANNEL_NET_BW
    const float net = s.gpu_net.at(gpu, local.front()).GBps;
    return std::max(nics, static_cast<std::uint32_t>(std::ceil(net / kPerChannelGBps)));
  }
  std::uint32_t most = 2;
  if (c.settings.version < NcclVersion{2, 20}) return most;  // NCCL_NCHANNELS_PER_NET_PEER was 2 for all rank counts
  while (most > 1 && most * c.ranks > c.p2p_channels * 4) most /= 2;
  return std::max(nics, most);
}

/// Channels between two GPUs of one node.
std::uint32_t per_local_peer(const NcclComm& c, const NcclPath& path) {
  if (path.type != topology::PathType::kNvl && path.type != topology::PathType::kNvb) return 2;
  const float link = nvlink_GBps(c.least_capability, c.settings.version);
  return 2 * std::max(1u, static_cast<std::uint32_t>(path.GBps / link + 1e-3f));
}

void count_p2p(NcclComm& c) {
  c.p2p_channels = std::max(c.channels, std::min(c.settings.min_channels, kMostNcclChannels));
  std::uint32_t least = c.p2p_channels;
  for (const NcclNodeShape& s : c.shapes)
    for (std::uint32_t g = 0; g < s.system.gpu_count(); ++g) {
      for (std::uint32_t p = 0; p < s.system.gpu_count(); ++p)
        if (p != g) least = std::min(least, per_local_peer(c, s.system.gpu_gpu.at(g, p)));
      if (c.node_count() > 1) least = std::min(least, per_net_peer(c, s.system, g));
    }
  c.p2p_channels = std::bit_ceil(c.p2p_channels);
  c.p2p_channels_per_peer = std::bit_ceil(std::max(least, 1u));
  if (c.node_count() == 1 || c.settings.version < NcclVersion{2, 28} || c.settings.channels_per_peer != 0) return;
  const std::uint32_t groups = (c.ranks + 7) / 8;  // eight operations share a batch
  while (c.p2p_channels_per_peer > 1 && std::uint64_t{c.p2p_channels_per_peer} * groups > c.p2p_channels)
    c.p2p_channels_per_peer /= 2;
}

}  // namespace

float least_nic_GBps(const NcclComm& c) {
  float least = 0;
  for (const NcclNodeShape& s : c.shapes)
    for (const std::uint32_t n : s.system.nets) {
      const float rate = s.system.nodes[n].net_GBps;
      least = least == 0 ? rate : std::min(least, rate);
    }
  return least;
}

void count_nccl_channels(NcclComm& c) {
  if (c.shapes.front().system.amd_gpus) return count_rccl_channels(c);
  bool enough = true;  // multicast groups start at three GPUs
  for (const NcclMember& m : c.nodes) enough = enough && m.ranks.size() > 2;
  c.nvls = c.settings.nvls && enough && c.graphs.nvls.channels > 0;
  c.channels = coll_channels(c);
  c.nvls_channels = nvls_channels(c);
  count_p2p(c);
}

}  // namespace busbar::nccl
