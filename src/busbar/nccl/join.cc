// Rings and double binary trees over the nodes of a communicator.
#include <algorithm>
#include <bit>

#include "busbar/collectives/tree_shape.h"
#include "busbar/nccl/comm.h"

namespace busbar::nccl {
namespace {

const NcclNodeShape& shape_of(const NcclComm& c, std::uint32_t node) { return c.shapes[c.nodes[node].shape]; }

std::uint32_t searched_channel(const NcclComm& c, std::uint32_t channel) {
  return channel % std::max(c.search_channels, 1u);
}

/// The part of a ring inside one node.
struct Chain {
  const NcclGraph* graph;
  std::uint32_t channel;
  bool reversed = false;
  std::uint32_t gpu(std::uint32_t place) const {
    return graph->gpu(channel, reversed ? graph->gpus - 1 - place : place);
  }
  std::uint32_t net(std::uint32_t side) const { return graph->net(channel, reversed ? 1 - side : side); }
};

std::uint32_t ring_channel(const NcclComm& c, std::uint32_t node, std::uint32_t channel);

/// With RCCL's models, every second node runs its rings backwards. So a ring leaves a node by the rail on which it
/// enters the next. With an odd number of nodes, the last two have rings of their own if the model has them.
Chain chain_of(const NcclComm& c, std::uint32_t node, std::uint32_t channel) {
  const NcclGraphs& g = shape_of(c, node).graphs;
  if (!g.rccl) return {&g.ring, ring_channel(c, node, channel)};
  const std::uint32_t at = searched_channel(c, channel), nodes = c.node_count();
  if (!c.settings.rccl_reversal || nodes == 1) return {&g.ring, at};
  if (nodes % 2 == 1 && g.rccl->last.channels > 0) {
    if (node == nodes - 1) return {&g.rccl->last, at};
    if (node == nodes - 2) return {&g.rccl->before_last, at};
  }
  return {&g.ring, at, node % 2 == 1};
}

/// With alternating rings, odd nodes swap channels in pairs.
std::uint32_t ring_channel(const NcclComm& c, std::uint32_t node, std::uint32_t channel) {
  const std::uint32_t searched = searched_channel(c, channel);
  const bool swaps = shape_of(c, node).graphs.ring.cross_nic == 2;
  return swaps && node % 2 == 1 && c.search_channels % 2 == 0 ? searched ^ 1u : searched;
}

/// Device `net` for GPU `gpu` of the node. Sends may go through the GPU next to the device (PXN).
NcclPort port_of(const NcclComm& c, std::uint32_t node, std::uint32_t gpu, std::uint32_t net, bool sends) {
  const NcclSystem& s = shape_of(c, node).system;
  NcclPort port;
  port.net = net;
  port.rank = port.proxy = c.nodes[node].ranks[gpu];
  if (sends && s.gpu_net.at(gpu, net).type == topology::PathType::kPxn)
    port.proxy = c.nodes[node].ranks[static_cast<std::size_t>(s.local_gpu[net])];
  return port;
}

/// Places in the chain of the GPUs that talk to children 0 and 1 in other nodes. Place 0 talks to the parent.
struct TreePlaces {
  std::uint32_t child[2] = {0, 0};
};
TreePlaces places_of(const NcclGraph& g) {
  const std::uint32_t second = g.gpus > 1 ? 1 : 0;
  return {{g.pattern == NcclPattern::kTree ? 0 : second, g.pattern == NcclPattern::kSplitTree ? second : 0}};
}

/// Parent and children of a node in tree 0 or 1 over the nodes; kNoRank where there is none. A first child has a lower
/// number in the tree than its parent, a second child a higher one.
struct NodeLinks {
  std::int32_t up = kNoRank, down[2] = {kNoRank, kNoRank};
  int kind_of_child = 0;  ///< which child of its parent this node is
};

/// The links of node `i` in a tree whose numbers are not mirrored or shifted yet.
NodeLinks plain_links(std::uint32_t n, std::uint32_t i) {
  NodeLinks out;
  if (i == 0) {
    if (n > 1) out.down[1] = static_cast<std::int32_t>(1u << (31 - std::countl_zero(n - 1)));
    return out;
  }
  const std::uint32_t up = collectives::tree_parent(n, i);
  out.up = static_cast<std::int32_t>(up);
  out.kind_of_child = i < up ? 0 : 1;
  std::uint32_t step = (i & (~i + 1)) >> 1;
  if (step == 0) return out;
  out.down[0] = static_cast<std::int32_t>(i - step);
  while (step != 0 && i + step >= n) step >>= 1;
  if (step != 0) out.down[1] = static_cast<std::int32_t>(i + step);
  return out;
}

NodeLinks node_links(std::uint32_t n, std::uint32_t node, int tree) {
  if (tree == 0) return plain_links(n, node);
  const bool odd = n % 2 == 1;
  NodeLinks out = plain_links(n, odd ? (node + n - 1) % n : n - 1 - node);
  const auto back = [&](std::int32_t& i) {
    if (i == kNoRank) return;
    const auto u = static_cast<std::uint32_t>(i);
    i = static_cast<std::int32_t>(odd ? (u + 1) % n : n - 1 - u);
  };
  back(out.up), back(out.down[0]), back(out.down[1]);
  return out;
}

/// Which of the two trees a channel carries: the first half of the channels carry tree 0.
int number_of_tree(const NcclComm& c, std::uint32_t channel) {
  if (c.shapes.front().system.amd_gpus) return channel < c.channels / 2 ? 0 : 1;
  return channel / std::max(c.search_channels, 1u) % 2 == 0 ? 0 : 1;
}

/// The search channel that each node uses. RCCL's trees on rails come in pairs with their first two GPUs swapped. A
/// child of a parent's second GPU takes the other channel of the pair, so that all network links of a tree stay on
/// their rails. Source: ROCm RCCL (on NCCL 2.28.3), src/graph/connect.cc.
std::vector<std::uint32_t> tree_channels(const NcclComm& c, std::uint32_t channel, int tree) {
  std::vector<std::uint32_t> out(c.node_count(), searched_channel(c, channel));
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const NcclGraphs& g = shape_of(c, n).graphs;
    if (!g.rccl || !g.rccl->rail_trees) continue;
    auto parity = static_cast<std::uint32_t>(tree);
    for (NodeLinks at = node_links(c.node_count(), n, tree); at.up != kNoRank;
         at = node_links(c.node_count(), static_cast<std::uint32_t>(at.up), tree))
      parity += at.kind_of_child == 0 ? 1 : 0;
    out[n] ^= parity % 2;
  }
  return out;
}

void add_child(NcclTree& t, std::uint32_t rank, std::int32_t child) {
  for (std::int32_t& d : t.down[rank])
    if (d == kNoRank) {
      d = child;
      return;
    }
}

}  // namespace

std::vector<topology::DeviceId> nic_devices(const NcclComm& c, std::uint32_t node, std::uint32_t net) {
  const NcclNodeShape& shape = shape_of(c, node);
  std::vector<topology::DeviceId> out = shape.system.nodes[shape.system.nets[net]].ports;
  for (topology::DeviceId& d : out)
    d = static_cast<topology::DeviceId>(index(d) - shape.first_device + c.nodes[node].first_device);
  return out;
}

NcclPort nccl_local_port(const NcclComm& c, std::uint32_t node, std::uint32_t gpu, std::uint32_t channel) {
  return port_of(c, node, gpu, local_net(shape_of(c, node).system, gpu, channel), true);
}

NcclRing nccl_ring(const NcclComm& c, std::uint32_t channel) {
  NcclRing out;
  out.order.reserve(c.ranks);
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const Chain chain = chain_of(c, n, channel);
    const std::uint32_t gpus = chain.graph->gpus;
    for (std::uint32_t i = 0; i < gpus; ++i) out.order.push_back(c.nodes[n].ranks[chain.gpu(i)]);
    if (chain.graph->inter.empty()) continue;
    out.ports.push_back(
        {port_of(c, n, chain.gpu(0), chain.net(0), false), port_of(c, n, chain.gpu(gpus - 1), chain.net(1), true)});
  }
  std::rotate(out.order.begin(), std::find(out.order.begin(), out.order.end(), 0u), out.order.end());
  return out;
}

NcclTree nccl_tree(const NcclComm& c, std::uint32_t channel) {
  NcclTree out;
  out.up.assign(c.ranks, kNoRank);
  out.down.assign(c.ranks, {kNoRank, kNoRank, kNoRank});
  const int tree = number_of_tree(c, channel);
  const std::vector<std::uint32_t> channel_of = tree_channels(c, channel, tree);
  const auto chain_rank = [&](std::uint32_t node, std::uint32_t place) {
    return c.nodes[node].ranks[shape_of(c, node).graphs.tree.gpu(channel_of[node], place)];
  };
  const auto signed_rank = [&](std::uint32_t node, std::uint32_t place) {
    return static_cast<std::int32_t>(chain_rank(node, place));
  };
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const NcclGraph& g = shape_of(c, n).graphs.tree;
    for (std::uint32_t i = 0; i + 1 < g.gpus; ++i) {
      out.up[chain_rank(n, i + 1)] = signed_rank(n, i);
      add_child(out, chain_rank(n, i), signed_rank(n, i + 1));
    }
  }
  if (c.node_count() == 1) return out;
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const NcclGraph& g = shape_of(c, n).graphs.tree;
    const NodeLinks links = node_links(c.node_count(), n, tree);
    if (links.up != kNoRank) {
      const auto up = static_cast<std::uint32_t>(links.up);
      out.up[chain_rank(n, 0)] = signed_rank(up, places_of(shape_of(c, up).graphs.tree).child[links.kind_of_child]);
    }
    for (int k = 0; k < 2; ++k)
      if (links.down[k] != kNoRank)
        add_child(out, chain_rank(n, places_of(g).child[k]), signed_rank(static_cast<std::uint32_t>(links.down[k]), 0));
    if (g.inter.empty()) continue;
    const std::uint32_t ch = channel_of[n];
    const std::uint32_t last = g.pattern == NcclPattern::kTree || g.gpus == 1 ? 0 : 1;
    out.ports.push_back(
        {port_of(c, n, g.gpu(ch, 0), g.net(ch, 0), true), port_of(c, n, g.gpu(ch, last), g.net(ch, 1), true)});
  }
  return out;
}

std::vector<std::vector<std::uint32_t>> nccl_nvls_heads(const NcclComm& c) {
  std::vector<std::vector<std::uint32_t>> heads;
  if (!c.nvls) return heads;
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const NcclGraph& g = shape_of(c, n).graphs.nvls;
    std::vector<std::uint32_t> here;
    for (std::uint32_t ch = 0; ch < g.channels; ++ch) {
      const std::uint32_t rank = c.nodes[n].ranks[g.gpu(ch, 0)];
      if (std::find(here.begin(), here.end(), rank) == here.end()) here.push_back(rank);
    }
    if (n == 0) heads.resize(here.size());
    heads.resize(std::min(heads.size(), here.size()));
    for (std::size_t h = 0; h < heads.size(); ++h) heads[h].push_back(here[h]);
  }
  return heads;
}

}  // namespace busbar::nccl
