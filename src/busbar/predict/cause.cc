#include "busbar/predict/internal/cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace busbar {

std::string far_nics(const NcclComm& comm) {
  if (comm.node_count() < 2) return {};
  for (const NcclNodeShape& shape : comm.shapes) {
    const NcclSystem& system = shape.system;
    const std::uint32_t nics = system.net_count();
    PathType nearest = PathType::kDis;
    for (std::uint32_t g = 0; g < system.gpu_count(); ++g)
      for (std::uint32_t n = 0; n < nics; ++n) nearest = std::min(nearest, system.gpu_net.at(g, n).type);
    const std::set<std::uint32_t> taken(shape.graphs.ring.inter.begin(), shape.graphs.ring.inter.end());
    if (nearest < PathType::kPhb || taken.empty() || taken.size() >= nics) continue;
    const std::uint32_t channels = comm.search_channels;
    return fmt::format(
        "no NIC near: {} over {} of {} NICs of a node, because every path from a GPU to a NIC crosses a CPU ({})",
        channels == 1 ? "one channel" : fmt::format("{} channels", channels), taken.size(), nics, name_of(nearest));
  }
  return {};
}

BoundKind kind_of_chain(const std::vector<ChainPart>& chain) {
  double bytes = 0;
  for (const ChainPart& p : chain)
    if (p.kind == ChainPartKind::kBandwidth || p.kind == ChainPartKind::kSharing) bytes += p.ps;
  return 2 * bytes >= sum_ps(chain) ? BoundKind::kBandwidth : BoundKind::kLatency;
}

}  // namespace busbar
