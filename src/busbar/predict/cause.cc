#include "busbar/predict/internal/cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace busbar::predict {

std::string far_nics(const nccl::NcclComm& comm) {
  if (comm.node_count() < 2) return {};
  for (const nccl::NcclNodeShape& shape : comm.shapes) {
    const nccl::NcclSystem& system = shape.system;
    const std::uint32_t nics = system.net_count();
    topology::PathType nearest = topology::PathType::kDis;
    for (std::uint32_t g = 0; g < system.gpu_count(); ++g)
      for (std::uint32_t n = 0; n < nics; ++n) nearest = std::min(nearest, system.gpu_net.at(g, n).type);
    const std::set<std::uint32_t> taken(shape.graphs.ring.inter.begin(), shape.graphs.ring.inter.end());
    if (nearest < topology::PathType::kPhb || taken.empty() || taken.size() >= nics) continue;
    const std::uint32_t channels = comm.search_channels;
    return fmt::format(
        "no NIC near: {} over {} of {} NICs of a node, because every path from a GPU to a NIC crosses a CPU ({})",
        channels == 1 ? "one channel" : fmt::format("{} channels", channels), taken.size(), nics,
        topology::name_of(nearest));
  }
  return {};
}

lowering::BoundKind kind_of_chain(const std::vector<lowering::ChainPart>& chain) {
  double bytes = 0;
  for (const lowering::ChainPart& p : chain)
    if (p.kind == lowering::ChainPartKind::kBandwidth || p.kind == lowering::ChainPartKind::kSharing) bytes += p.ps;
  return 2 * bytes >= lowering::sum_ps(chain) ? lowering::BoundKind::kBandwidth : lowering::BoundKind::kLatency;
}

}  // namespace busbar::predict
