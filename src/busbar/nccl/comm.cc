#include "busbar/nccl/comm.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "busbar/nccl/internal/channel_counts.h"

namespace busbar::nccl {
namespace {

/// Nodes with an equal key share a search: their wiring, the GPUs in use and the rates of their NICs are equal.
struct ShapeKey {
  topology::ShapeId shape{};
  std::uint32_t template_index = 0;
  std::vector<std::uint32_t> gpus;
  std::vector<double> nics;
  auto operator<=>(const ShapeKey&) const = default;
};

ShapeKey key_of(const topology::Topology& t, const topology::Block& block, std::span<const topology::DeviceId> gpus) {
  ShapeKey key{block.shape, block.template_index, {}, {}};
  for (const topology::DeviceId g : gpus) key.gpus.push_back(index(g) - block.first_device);
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    if (t.kind(d) != topology::DeviceKind::kNic) continue;
    double rate = 0;
    for (const topology::LinkId l : t.out_links(d))
      if (topology::is_fabric(t.link_class(l).kind))
        rate += static_cast<double>(per_second(t.link_class(l).floor_rate()));
    key.nics.push_back(rate);
  }
  return key;
}

void worsen(NcclGraph& all, const NcclGraph& one, bool first) {
  if (first) {
    all = one;
    all.intra.clear();
    all.inter.clear();
    return;
  }
  all.channels = std::min(all.channels, one.channels);
  all.same_channels = all.same_channels && one.same_channels;
  all.intra_GBps = std::min(all.intra_GBps, one.intra_GBps);
  all.inter_GBps = std::min(all.inter_GBps, one.inter_GBps);
  all.inter_latency_us = std::max(all.inter_latency_us, one.inter_latency_us);
  all.intra_type = std::max(all.intra_type, one.intra_type);
  all.inter_type = std::max(all.inter_type, one.inter_type);
  all.cross_nic = std::max(all.cross_nic, one.cross_nic);
  all.pattern = std::max(all.pattern, one.pattern);
}

void repeat(NcclComm& comm, std::uint32_t copies) {
  const std::size_t nodes = comm.nodes.size();
  for (std::uint32_t k = 1; k < copies; ++k)
    for (std::size_t n = 0; n < nodes; ++n) {
      NcclMember more = comm.nodes[n];
      for (std::uint32_t& r : more.ranks) r += k * comm.ranks;
      comm.nodes.push_back(std::move(more));
    }
  comm.ranks *= copies;
}

void agree(NcclComm& comm) {
  bool first = true;
  for (const NcclNodeShape& s : comm.shapes) {
    worsen(comm.graphs.ring, s.graphs.ring, first);
    worsen(comm.graphs.tree, s.graphs.tree, first);
    worsen(comm.graphs.collnet_chain, s.graphs.collnet_chain, first);
    worsen(comm.graphs.collnet_direct, s.graphs.collnet_direct, first);
    worsen(comm.graphs.nvls, s.graphs.nvls, first);
    const int cc = s.system.least_capability;
    comm.least_capability = first ? cc : std::min(comm.least_capability, cc);
    first = false;
  }
  comm.search_channels = std::min(comm.graphs.ring.channels, comm.graphs.tree.channels);
  comm.graphs.ring.channels = comm.graphs.tree.channels = comm.search_channels;
}

/// Without shared memory, GPUs without a direct path communicate over the network. The model does not cover this.
Status check_meeting(const NcclSystem& s, const NcclSettings& settings) {
  if (settings.shm) return {};
  const auto uses_cpu = [&](const NcclPath& path) {
    return std::any_of(path.links.begin(), path.links.end(),
                       [&](std::uint32_t l) { return s.nodes[s.links[l].to].kind == NcclNodeKind::kCpu; });
  };
  if (!std::any_of(s.gpu_gpu.cells.begin(), s.gpu_gpu.cells.end(), uses_cpu)) return {};
  return Error{ErrorCode::kUnsupported,
               "with NCCL_SHM_DISABLE=1, GPUs without a direct path would send over the network, which is not modelled",
               {}};
}

}  // namespace

std::uint32_t NcclComm::most_local_ranks() const {
  std::size_t most = 0;
  for (const NcclMember& m : nodes) most = std::max(most, m.ranks.size());
  return static_cast<std::uint32_t>(most);
}

/// Source of the numbers: ROCm RCCL (on NCCL 2.28.3), src/init.cc.
bool has_pxn(const NcclSettings& settings, const topology::Topology& t, std::span<const topology::DeviceId> gpus,
             std::uint32_t copies) {
  const std::string_view amd_target = t.device_class(gpus[0]).architecture;
  const std::size_t ranks = gpus.size() * copies;
  if (settings.pxn) return *settings.pxn;
  if (amd_target.starts_with("gfx94")) return ranks >= 64;
  return !amd_target.starts_with("gfx95") || ranks >= 32;
}

std::string library_name(const NcclComm& comm) {
  return comm.shapes.front().system.amd_gpus ? "RCCL" : fmt::format("NCCL {}", to_string(comm.settings.version));
}

std::string origin_of_rings(const NcclComm& comm) {
  const auto& match = comm.shapes.front().graphs.rccl;
  return match ? fmt::format("its model {}", match->number) : "its search";
}

Result<NcclComm> build_nccl_comm(const topology::Topology& t, std::span<const topology::DeviceId> gpus,
                                 const NcclSettings& settings, std::uint32_t copies, KeptGraphs* kept) {
  NcclComm comm;
  comm.settings = settings;
  comm.ranks = static_cast<std::uint32_t>(gpus.size());
  if (comm.ranks == 0) return invalid("a communicator has at least one rank");
  comm.settings.pxn = has_pxn(settings, t, gpus, copies);
  std::vector<std::uint32_t> node_of_block(t.blocks().size(), UINT32_MAX);
  std::vector<std::vector<std::uint32_t>> ranks;
  for (std::uint32_t r = 0; r < comm.ranks; ++r) {
    std::uint32_t& node = node_of_block[index(t.block_of(gpus[r]))];
    if (node == UINT32_MAX) {
      node = static_cast<std::uint32_t>(ranks.size());
      const topology::BlockId block = t.block_of(gpus[r]);
      comm.nodes.push_back({block, t.blocks()[index(block)].first_device, 0, {}});
      ranks.emplace_back();
    }
    ranks[node].push_back(r);
  }
  std::map<ShapeKey, std::uint32_t> shapes;
  for (std::uint32_t n = 0; n < comm.node_count(); ++n) {
    NcclMember& member = comm.nodes[n];
    member.ranks = std::move(ranks[n]);  // the GPUs of a system are in the order of the devices
    std::sort(member.ranks.begin(), member.ranks.end(),
              [&](std::uint32_t a, std::uint32_t b) { return gpus[a] < gpus[b]; });
    std::vector<topology::DeviceId> here;
    for (const std::uint32_t r : member.ranks) here.push_back(gpus[r]);
    const auto [at, fresh] = shapes.try_emplace(key_of(t, t.blocks()[index(member.block)], here),
                                                static_cast<std::uint32_t>(comm.shapes.size()));
    member.shape = at->second;
    if (!fresh) continue;
    NcclNodeShape shape;
    shape.first_device = member.first_device;
    BUSBAR_ASSIGN(shape.system,
                  build_nccl_system(t, here, member.ranks, comm.node_count() * copies > 1, comm.settings));
    BUSBAR_RETURN_IF_ERROR(check_meeting(shape.system, settings));
    shape.graphs = kept != nullptr ? kept->of(shape.system, settings) : search_nccl_graphs(shape.system, settings);
    comm.shapes.push_back(std::move(shape));
  }
  repeat(comm, copies);
  agree(comm);
  count_nccl_channels(comm);
  return comm;
}

}  // namespace busbar::nccl
