#include "busbar/cli/rings_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/session.h"

namespace busbar {
namespace {

Json to_json(const NcclGraph& g) {
  if (g.channels == 0) return nullptr;
  return {{"pattern", name_of(g.pattern)},      {"cross_nic", g.cross_nic},   {"channels", g.channels},
          {"intra_GBps", g.intra_GBps},         {"inter_GBps", g.inter_GBps}, {"intra_type", name_of(g.intra_type)},
          {"inter_type", name_of(g.inter_type)}};
}

/// Ranks beginning with the root, parents before children.
std::vector<std::uint32_t> order_of(const NcclTree& t) {
  std::vector<std::uint32_t> order;
  order.reserve(t.up.size());
  order.push_back(static_cast<std::uint32_t>(std::find(t.up.begin(), t.up.end(), kNoRank) - t.up.begin()));
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::int32_t d : t.down[order[i]])
      if (d != kNoRank) order.push_back(static_cast<std::uint32_t>(d));
  return order;
}

Json nics_of(const RingsView& v, const std::vector<NcclPorts>& ports) {
  Json out = Json::array();
  for (std::uint32_t n = 0; n < ports.size(); ++n) {
    out.push_back(nic_name(v, n, ports[n].in.net));
    if (ports[n].out.net != ports[n].in.net) out.push_back(nic_name(v, n, ports[n].out.net));
  }
  return out;
}

/// The chain to each channel's GPU that talks to the reducing network, node after node.
void add_collnet(const RingsView& v, Json& out) {
  const NcclComm& c = *v.comm;
  for (std::uint32_t ch = 0; ch < c.graphs.collnet_chain.channels; ++ch) {
    Json order = Json::array(), nics = Json::array();
    for (std::uint32_t n = 0; n < c.node_count(); ++n) {
      const NcclGraph& g = c.shapes[c.nodes[n].shape].graphs.collnet_chain;
      for (std::uint32_t i = 0; i < g.gpus; ++i) order.push_back(c.nodes[n].ranks[g.gpu(ch, i)]);
      if (!g.inter.empty()) nics.push_back(nic_name(v, n, g.net(ch, 0)));
    }
    out.push_back({{"kind", "collnet_chain"}, {"channel", ch}, {"order", order}, {"nics", nics}, {"balanced", true}});
  }
}

void add_channels(const RingsView& v, Json& out) {
  const NcclComm& c = *v.comm;
  const std::vector<bool> rings = balanced_rings(c), trees = balanced_trees(c);
  for (std::uint32_t ch = 0; ch < c.channels; ++ch) {
    const NcclRing ring = nccl_ring(c, ch);
    out.push_back({{"kind", "ring"},
                   {"channel", ch},
                   {"order", ring.order},
                   {"nics", nics_of(v, ring.ports)},
                   {"balanced", bool{rings[ch % rings.size()]}}});
  }
  for (std::uint32_t ch = 0; ch < c.channels; ++ch) {
    const NcclTree tree = nccl_tree(c, ch);
    const std::vector<std::uint32_t> order = order_of(tree);
    std::vector<std::int32_t> parents;
    parents.reserve(order.size());
    for (const std::uint32_t r : order) parents.push_back(tree.up[r]);
    out.push_back({{"kind", "tree"},
                   {"channel", ch},
                   {"order", order},
                   {"parents", parents},
                   {"nics", nics_of(v, tree.ports)},
                   {"balanced", bool{trees[ch % trees.size()]}}});
  }
  add_collnet(v, out);
  const auto heads = nccl_nvls_heads(c);
  for (std::uint32_t h = 0; h < heads.size(); ++h) {
    Json nics = Json::array();
    for (std::uint32_t n = 0; n < c.node_count(); ++n) {
      const NcclNodeShape& shape = c.shapes[c.nodes[n].shape];
      const NcclGraph& g = shape.graphs.nvls;
      if (!g.inter.empty()) nics.push_back(nic_name(v, n, g.net(h, 0)));
    }
    out.push_back(
        {{"kind", "nvls"}, {"channel", h}, {"order", heads[h]}, {"nics", std::move(nics)}, {"balanced", true}});
  }
}

std::string listed(const std::vector<std::uint32_t>& order) {
  constexpr std::size_t kMost = 24;
  std::string text;
  for (std::size_t i = 0; i < order.size() && i < kMost; ++i) text += (i == 0 ? "" : " ") + std::to_string(order[i]);
  if (order.size() > kMost) text += fmt::format(" ... ({} ranks)", order.size());
  return text;
}

std::string port_text(const RingsView& v, std::uint32_t node, const NcclPorts& p) {
  std::string text = nic_name(v, node, p.in.net);
  if (p.out.net != p.in.net) text += ", out " + nic_name(v, node, p.out.net);
  if (p.out.proxy != p.out.rank) text += fmt::format(", sent by {} for {}", p.out.proxy, p.out.rank);
  return text;
}

std::string tree_text(const NcclTree& t) {
  constexpr std::size_t kMost = 16;
  std::string text;
  const std::vector<std::uint32_t> order = order_of(t);
  for (std::size_t i = 0; i < order.size() && i < kMost; ++i)
    text += i == 0 ? fmt::format("root {}", order[i]) : fmt::format(", {}<-{}", t.up[order[i]], order[i]);
  if (order.size() > kMost) text += fmt::format(" ... ({} ranks)", order.size());
  return text;
}

Facts facts_of(const RingsView& v) {
  const NcclComm& c = *v.comm;
  Facts f;
  f.title = fmt::format("What {} finds", library_name(c));
  const auto graph = [several = c.node_count() > 1](const NcclGraph& g) {
    std::string out = g.channels == 1 ? "1 channel" : fmt::format("{} channels, each", g.channels);
    out += fmt::format(" of {} GB/s in the node ({})", format_number(g.intra_GBps), name_of(g.intra_type));
    if (several) out += fmt::format(" and {} GB/s to NICs ({})", format_number(g.inter_GBps), name_of(g.inter_type));
    out += fmt::format(", pattern {}", name_of(g.pattern));
    return several ? out + fmt::format(", crossNic {}", g.cross_nic) : out;
  };
  f.items = {{"ranks", fmt::format("{} on {} node{}", c.ranks, c.node_count(), c.node_count() == 1 ? "" : "s")},
             {"rings and trees of", origin_of_rings(c)},
             {"ring", graph(c.graphs.ring)},
             {"tree", graph(c.graphs.tree)},
             {"NVLS", c.nvls ? graph(c.graphs.nvls) : "none"},
             {"channels", fmt::format("{} collective, {} NVLS, {} point to point, {} of them per peer", c.channels,
                                      c.nvls_channels, c.p2p_channels, c.p2p_channels_per_peer)},
             {"NCCL_CROSS_NIC", std::to_string(c.settings.cross_nic)}};
  return f;
}

Table nic_table(const RingsView& v) {
  const NcclComm& c = *v.comm;
  Table t{"The NIC of each GPU of the first node",
          {"rank", to_left("GPU"), to_left("NIC of channel 0"), to_left("path")}};
  const NcclNodeShape& shape = c.shapes[c.nodes[0].shape];
  const NcclSystem& s = shape.system;
  for (std::uint32_t g = 0; g < s.gpu_count() && s.net_count() > 0; ++g) {
    const std::uint32_t n = local_net(s, g, 0);
    t.rows.push_back({std::to_string(c.nodes[0].ranks[g]), v.topology->name(s.nodes[s.gpus[g]].device),
                      nic_name(v, 0, n), name_of(s.gpu_net.at(g, n).type)});
  }
  return t;
}

}  // namespace

std::string nic_name(const RingsView& v, std::uint32_t node, std::uint32_t net) {
  const NcclMember& member = v.comm->nodes[node];
  std::string text = fmt::format("node{}", node < v.topology->blocks().size() ? index(member.block) : node);
  const char* separator = ".";
  for (const DeviceId nic : nic_devices(*v.comm, node, net)) {
    text += separator + v.topology->template_device(nic).name;
    separator = "+";
  }
  return text;
}

void rings_to_json(const RingsView& v, Json& out) {
  const NcclComm& c = *v.comm;
  out["counts"] = {{"coll", c.channels},
                   {"nvls", c.nvls_channels},
                   {"p2p", c.p2p_channels},
                   {"p2p_per_peer", c.p2p_channels_per_peer}};
  out["graphs"] = {{"ring", to_json(c.graphs.ring)},
                   {"tree", to_json(c.graphs.tree)},
                   {"nvls", c.nvls ? to_json(c.graphs.nvls) : Json(nullptr)},
                   {"collnet_chain", to_json(c.graphs.collnet_chain)},
                   {"collnet_direct", to_json(c.graphs.collnet_direct)}};
  Json nics = Json::array();
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const NcclSystem& s = c.shapes[c.nodes[n].shape].system;
    for (std::uint32_t g = 0; g < s.gpu_count() && s.net_count() > 0; ++g)
      nics.push_back({{"rank", c.nodes[n].ranks[g]}, {"nic", nic_name(v, n, local_net(s, g, 0))}});
  }
  out["nic_of_gpu"] = std::move(nics);
  out["channels"] = Json::array();
  add_channels(v, out["channels"]);
}

void rings_to_document(const RingsView& v, Document& out) {
  const NcclComm& c = *v.comm;
  out.title = fmt::format("Rings and trees of {}, {} GPUs", v.cluster, c.ranks);
  out.add(facts_of(v));
  const std::vector<bool> rings = balanced_rings(c), trees = balanced_trees(c);
  const auto mark = [](bool balanced) { return std::string(balanced ? "yes" : "NO"); };
  Table ring_table, tree_table;
  ring_table.title = "Rings";
  ring_table.columns = {"channel", to_left("ranks in order"), to_left("NIC of node 0"), to_left("balanced")};
  tree_table = ring_table;
  tree_table.title = "Trees, parent<-child";
  std::uint32_t uneven = 0;
  for (std::uint32_t ch = 0; ch < c.channels; ++ch) {
    const NcclRing ring = nccl_ring(c, ch);
    const bool even = rings[ch % rings.size()];
    uneven += even ? 0 : 1;
    ring_table.rows.push_back({std::to_string(ch), listed(ring.order),
                               ring.ports.empty() ? "-" : port_text(v, 0, ring.ports[0]), mark(even)});
    const NcclTree tree = nccl_tree(c, ch);
    tree_table.rows.push_back({std::to_string(ch), tree_text(tree),
                               tree.ports.empty() ? "-" : port_text(v, 0, tree.ports[0]),
                               mark(trees[ch % trees.size()])});
  }
  ring_table.note = "Balanced: no NIC and no link carries two channels while an equal one is idle.";
  out.add(ring_table);
  out.add(tree_table);
  if (const Table t = nic_table(v); !t.rows.empty()) out.add(t);
  if (uneven > 0)
    out.blocks.push_back(
        {Highlight{fmt::format("{} of {} rings are unbalanced: some NIC or link is idle while another carries more "
                               "than its share.",
                               uneven, c.channels)}});
  else
    out.blocks.push_back(
        {Highlight{fmt::format("{} finds {} balanced rings: no NIC and no link carries two while an equal one is idle.",
                               library_name(c), c.channels)},
         Audience::kPage});
}

}  // namespace busbar
