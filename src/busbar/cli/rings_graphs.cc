#include "busbar/cli/rings_graphs.h"

namespace busbar {
namespace {

NcclGraphRecord record_of(int id, const NcclGraph& g, const NcclSystem& system) {
  NcclGraphRecord r;
  r.id = id;
  r.pattern = static_cast<int>(g.pattern);
  r.cross_nic = g.cross_nic;
  r.same_channels = g.same_channels ? 1 : 0;
  r.speed_intra = static_cast<double>(g.intra_GBps);
  r.speed_inter = static_cast<double>(g.inter_GBps);
  r.latency_inter = static_cast<double>(g.inter_latency_us);
  r.type_intra = name_of(g.intra_type);
  r.type_inter = name_of(g.inter_type);
  const std::uint32_t places = g.pattern == NcclPattern::kNvls ? 1 : g.gpus;  // NVLS lists only heads
  for (std::uint32_t c = 0; c < g.channels; ++c) {
    NcclGraphChannel channel;
    if (!g.inter.empty()) channel.net_in = g.net(c, 0);
    for (std::uint32_t p = 0; p < places; ++p)
      channel.gpus.push_back({static_cast<int>(system.nodes[system.gpus[g.gpu(c, p)]].dev), -1});
    if (!g.inter.empty()) channel.net_out = g.net(c, 1);
    r.channels.push_back(std::move(channel));
  }
  return r;
}

}  // namespace

std::vector<NcclGraphRecord> graph_records(const NcclComm& comm) {
  const NcclNodeShape& shape = comm.shapes[comm.nodes.front().shape];
  const NcclGraphs& g = shape.graphs;
  const NcclGraph* all[] = {&g.ring, &g.tree, &g.collnet_chain, &g.nvls, &g.collnet_direct};
  std::vector<NcclGraphRecord> out;
  for (int id = 0; id < 5; ++id)
    if (all[id]->channels > 0) out.push_back(record_of(id, *all[id], shape.system));
  return out;
}

}  // namespace busbar
