// Which channels load a NIC or a link while an equal one is idle.
#include <algorithm>

#include "busbar/nccl/comm.h"

namespace busbar::nccl {
namespace {

/// Load that the channels of one graph put on every network device, relative to its rate, inward and outward apart.
struct NetLoads {
  std::vector<double> in, out;
};

NetLoads net_loads(const NcclSystem& s, const NcclGraph& g) {
  NetLoads loads{std::vector<double>(s.nets.size(), 0), std::vector<double>(s.nets.size(), 0)};
  for (std::uint32_t c = 0; c < g.channels && !g.inter.empty(); ++c) {
    loads.in[g.net(c, 0)] += 1 / s.nodes[s.nets[g.net(c, 0)]].net_GBps;
    loads.out[g.net(c, 1)] += 1 / s.nodes[s.nets[g.net(c, 1)]].net_GBps;
  }
  return loads;
}

bool nics_are_even(const NcclSystem& s, const NcclGraph& g, const NetLoads& loads, std::uint32_t c) {
  if (g.inter.empty()) return true;
  constexpr double kRoundOff = 1e-9;
  const auto even = [&](const std::vector<double>& load, std::uint32_t net) {
    return load[net] <= *std::min_element(load.begin(), load.end()) + 1 / s.nodes[s.nets[net]].net_GBps + kRoundOff;
  };
  // One channel more than the least loaded is unavoidable if the numbers do not divide. Two more are not.
  const std::uint32_t nics = static_cast<std::uint32_t>(s.nets.size());
  const auto idle = [&](const std::vector<double>& load) {
    return g.channels >= nics && *std::min_element(load.begin(), load.end()) == 0;
  };
  if (!even(loads.in, g.net(c, 0)) || !even(loads.out, g.net(c, 1)) || idle(loads.in) || idle(loads.out)) return false;
  const std::uint32_t first = g.gpu(c, 0), net = g.net(c, 0);
  for (std::uint32_t n = 0; n < nics; ++n)
    if (s.net_gpu.at(n, first).type < s.net_gpu.at(net, first).type) return false;
  return true;
}

/// Whether a channel was made by doubling an earlier one.
bool is_copy(const NcclGraph& g, std::uint32_t c) {
  for (std::uint32_t e = 0; e < c; ++e)
    if (std::equal(g.intra.begin() + e * g.gpus, g.intra.begin() + (e + 1) * g.gpus, g.intra.begin() + c * g.gpus))
      return true;
  return false;
}

/// Number of different channels of one graph on every link between GPUs or into switches.
std::vector<std::uint32_t> link_channels(const NcclSystem& s, const NcclGraph& g) {
  std::vector<std::uint32_t> count(s.links.size(), 0);
  for (std::uint32_t c = 0; c < g.channels; ++c) {
    if (is_copy(g, c)) continue;
    for (std::uint32_t i = 0; i < g.gpus; ++i) {
      const bool back = i + 1 == g.gpus;
      if (back && (g.pattern != NcclPattern::kRing || !g.inter.empty())) continue;
      for (const std::uint32_t l : s.gpu_gpu.at(g.gpu(c, i), g.gpu(c, back ? 0 : i + 1)).links)
        if (s.links[l].kind == NcclLinkKind::kNvl) ++count[l];
    }
  }
  return count;
}

bool links_are_even(const NcclSystem& s, const NcclGraph& g, const std::vector<std::uint32_t>& count, std::uint32_t c) {
  for (std::uint32_t i = 0; i + 1 < g.gpus; ++i)
    for (const std::uint32_t l : s.gpu_gpu.at(g.gpu(c, i), g.gpu(c, i + 1)).links) {
      if (count[l] < 2) continue;
      for (const std::uint32_t other : s.out[s.links[l].from])
        if (s.links[other].kind == NcclLinkKind::kNvl && count[other] == 0 && s.links[other].GBps >= s.links[l].GBps)
          return false;
    }
  return true;
}

template <class GraphOf>
std::vector<bool> balanced(const NcclComm& comm, const GraphOf& graph_of) {
  std::vector<bool> out(comm.search_channels, true);
  for (const NcclNodeShape& shape : comm.shapes) {
    const NcclGraph& g = graph_of(shape.graphs);
    const NetLoads loads = net_loads(shape.system, g);
    const std::vector<std::uint32_t> links = link_channels(shape.system, g);
    for (std::uint32_t c = 0; c < comm.search_channels; ++c)
      out[c] = out[c] && nics_are_even(shape.system, g, loads, c) && links_are_even(shape.system, g, links, c);
  }
  return out;
}

}  // namespace

std::vector<bool> balanced_rings(const NcclComm& comm) {
  return balanced(comm, [](const NcclGraphs& g) -> const NcclGraph& { return g.ring; });
}
std::vector<bool> balanced_trees(const NcclComm& comm) {
  return balanced(comm, [](const NcclGraphs& g) -> const NcclGraph& { return g.tree; });
}

}  // namespace busbar::nccl
