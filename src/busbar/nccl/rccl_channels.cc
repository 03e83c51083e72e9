// How many channels RCCL makes from its rings.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/connect.cc, src/init.cc, src/graph/paths.cc.
#include <algorithm>
#include <bit>

#include "busbar/nccl/internal/channel_counts.h"

namespace busbar::nccl {
namespace {

constexpr std::uint32_t kMostRcclChannels = 128, kMostOverNetwork = 64;

bool is_cdna3(const NcclSystem& s) { return s.target.starts_with("gfx94"); }
bool is_cdna4(const NcclSystem& s) { return s.target.starts_with("gfx95"); }

bool all_over_xgmi(const NcclSystem& s) {
  return std::all_of(s.gpu_gpu.cells.begin(), s.gpu_gpu.cells.end(),
                     [](const NcclPath& p) { return p.type <= topology::PathType::kNvb; });
}

/// How often each ring is repeated.
std::uint32_t multiplier(const NcclComm& c, const NcclNodeShape& shape) {
  const NcclSystem& s = shape.system;
  const std::uint32_t rings = std::max(c.search_channels, 1u);
  const bool one = c.node_count() == 1;
  if (rings > kMostOverNetwork) return 1;
  if (is_cdna4(s)) return c.ranks == 2 && one ? 16 : c.ranks == 4 && one ? 8 : 4;
  if (is_cdna3(s)) {
    if (c.ranks == 2) return 16;
    if (c.ranks == 4) return 4;
    const bool apus = shape.graphs.rccl && s.gpu_count() == 4;  // MI300A has the model of four GPUs
    return apus && !one ? 6 : 2;
  }
  if (s.target == "gfx90a") return one ? 4 : std::max(2u, 4 / rings);
  if (s.target == "gfx908") return std::max(4 / rings, 2u);
  if (s.target == "gfx906" && one && all_over_xgmi(s)) return 4;
  return 2;
}

std::uint32_t most_channels(const NcclComm& c) {
  const NcclSystem& s = c.shapes.front().system;
  const bool over_network = c.node_count() > 1 || !c.shapes.front().graphs.ring.inter.empty();
  const std::uint32_t most = is_cdna3(s) || is_cdna4(s) ? kMostRcclChannels : 32;
  return over_network ? std::min(most, kMostOverNetwork) : most;
}

std::uint32_t per_peer(const NcclSystem& s, const NcclPath& path) {
  if (path.type != topology::PathType::kNvl && path.type != topology::PathType::kNvb) return 2;
  const auto links = static_cast<std::uint32_t>(path.GBps / xgmi_GBps(s.target) + 1e-3f);
  return (is_cdna3(s) || is_cdna4(s) ? 4 : 2) * std::max(1u, links);
}

std::uint32_t channels_per_net_peer(const NcclComm& c, const NcclSystem& s, std::uint32_t gpu) {
  if (c.settings.channels_per_peer != 0) return c.settings.channels_per_peer;
  std::uint32_t most = 2;
  while (most > 1 && most * c.ranks > c.p2p_channels) most /= 2;
  return std::max(static_cast<std::uint32_t>(local_nets(s, gpu).size()), most);
}

}  // namespace

void count_rccl_channels(NcclComm& c) {
  std::uint32_t times = UINT32_MAX;
  for (const NcclNodeShape& s : c.shapes) times = std::min(times, multiplier(c, s));
  const std::uint32_t rings = std::max(c.search_channels, 1u), most = most_channels(c);
  c.channels = rings * std::max(1u, std::min(most / rings, times));
  if (c.settings.max_channels > 0) c.channels = std::min(c.channels, c.settings.max_channels);
  c.channels = std::max(c.channels, std::min(c.settings.min_channels, most));
  c.p2p_channels = std::min(std::bit_ceil(c.channels), kMostOverNetwork);
  std::uint32_t least = c.p2p_channels;
  for (const NcclNodeShape& shape : c.shapes) {
    const NcclSystem& s = shape.system;
    for (std::uint32_t g = 0; g < s.gpu_count(); ++g) {
      for (std::uint32_t p = 0; p < s.gpu_count(); ++p)
        if (p != g) least = std::min(least, per_peer(s, s.gpu_gpu.at(g, p)));
      if (c.node_count() > 1) least = std::min(least, channels_per_net_peer(c, s, g));
    }
  }
  const bool doubled = c.node_count() == 1 && (is_cdna3(c.shapes.front().system) || is_cdna4(c.shapes.front().system));
  c.p2p_channels_per_peer = std::min(std::bit_ceil(std::max(least, 1u)) * (doubled ? 2 : 1), c.p2p_channels);
}

}  // namespace busbar::nccl
