// Rings, trees and NICs as tables.
#include <fmt/core.h>

#include "busbar/base/quantity.h"
#include "busbar/questions/rings_question.h"
#include "busbar/views/rings_drawing.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::OutputFile;
using questions::RingsRequest;
using questions::RingsResult;

std::string nic_name(const RingsResult& v, std::uint32_t node, std::uint32_t net) {
  return questions::nic_name(*v.comm, v.machine->topology, node, net);
}

std::string ranks_listed(const std::vector<std::uint32_t>& order) {
  constexpr std::size_t kMost = 24;
  std::string text;
  for (std::size_t i = 0; i < order.size() && i < kMost; ++i) text += (i == 0 ? "" : " ") + std::to_string(order[i]);
  if (order.size() > kMost) text += fmt::format(" ... ({} ranks)", order.size());
  return text;
}

std::string port_text(const RingsResult& v, std::uint32_t node, const nccl::NcclPorts& p) {
  std::string text = nic_name(v, node, p.in.net);
  if (p.out.net != p.in.net) text += ", out " + nic_name(v, node, p.out.net);
  if (p.out.proxy != p.out.rank) text += fmt::format(", sent by {} for {}", p.out.proxy, p.out.rank);
  return text;
}

std::string tree_text(const nccl::NcclTree& t) {
  constexpr std::size_t kMost = 16;
  std::string text;
  const std::vector<std::uint32_t> order = questions::order_of(t);
  for (std::size_t i = 0; i < order.size() && i < kMost; ++i)
    text += i == 0 ? fmt::format("root {}", order[i]) : fmt::format(", {}<-{}", t.up[order[i]], order[i]);
  if (order.size() > kMost) text += fmt::format(" ... ({} ranks)", order.size());
  return text;
}

report::Facts facts_of_rings(const RingsResult& v) {
  const nccl::NcclComm& c = *v.comm;
  report::Facts f;
  f.title = fmt::format("What {} finds", nccl::library_name(c));
  const auto graph = [several = c.node_count() > 1](const nccl::NcclGraph& g) {
    std::string out = g.channels == 1 ? "1 channel" : fmt::format("{} channels, each", g.channels);
    out += fmt::format(" of {} GB/s in the node ({})", format_number(g.intra_GBps), topology::name_of(g.intra_type));
    if (several)
      out += fmt::format(" and {} GB/s to NICs ({})", format_number(g.inter_GBps), topology::name_of(g.inter_type));
    out += fmt::format(", pattern {}", nccl::name_of(g.pattern));
    return several ? out + fmt::format(", crossNic {}", g.cross_nic) : out;
  };
  f.items = {{"ranks", fmt::format("{} on {} node{}", c.ranks, c.node_count(), c.node_count() == 1 ? "" : "s")},
             {"rings and trees of", nccl::origin_of_rings(c)},
             {"ring", graph(c.graphs.ring)},
             {"tree", graph(c.graphs.tree)},
             {"NVLS", c.nvls ? graph(c.graphs.nvls) : "none"},
             {"channels", fmt::format("{} collective, {} NVLS, {} point to point, {} of them per peer", c.channels,
                                      c.nvls_channels, c.p2p_channels, c.p2p_channels_per_peer)},
             {"NCCL_CROSS_NIC", std::to_string(c.settings.cross_nic)}};
  return f;
}

report::Table nic_table(const RingsResult& v) {
  const nccl::NcclComm& c = *v.comm;
  report::Table t{"The NIC of each GPU of the first node",
                  {"rank", report::to_left("GPU"), report::to_left("NIC of channel 0"), report::to_left("path")}};
  const nccl::NcclNodeShape& shape = c.shapes[c.nodes[0].shape];
  const nccl::NcclSystem& s = shape.system;
  for (std::uint32_t g = 0; g < s.gpu_count() && s.net_count() > 0; ++g) {
    const std::uint32_t n = nccl::local_net(s, g, 0);
    t.rows.push_back({std::to_string(c.nodes[0].ranks[g]), v.machine->topology.name(s.nodes[s.gpus[g]].device),
                      nic_name(v, 0, n), topology::name_of(s.gpu_net.at(g, n).type)});
  }
  return t;
}

report::Document rings_document(const RingsRequest&, const RingsResult& v, Extent extent) {
  report::Document out;
  const nccl::NcclComm& c = *v.comm;
  out.title = fmt::format("Rings and trees of {}, {} GPUs", v.cluster, c.ranks);
  if (extent == Extent::kPage) out.add(draw_rings(v), report::Audience::kPage);
  out.add(facts_of_rings(v));
  const std::vector<bool> rings = nccl::balanced_rings(c), trees = nccl::balanced_trees(c);
  const auto mark = [](bool balanced) { return std::string(balanced ? "yes" : "NO"); };
  report::Table ring_table, tree_table;
  ring_table.title = "Rings";
  ring_table.columns = {"channel", report::to_left("ranks in order"), report::to_left("NIC of node 0"),
                        report::to_left("balanced")};
  tree_table = ring_table;
  tree_table.title = "Trees, parent<-child";
  std::uint32_t uneven = 0;
  for (std::uint32_t ch = 0; ch < c.channels; ++ch) {
    const nccl::NcclRing ring = nccl::nccl_ring(c, ch);
    const bool even = rings[ch % rings.size()];
    uneven += even ? 0 : 1;
    ring_table.rows.push_back({std::to_string(ch), ranks_listed(ring.order),
                               ring.ports.empty() ? "-" : port_text(v, 0, ring.ports[0]), mark(even)});
    const nccl::NcclTree tree = nccl::nccl_tree(c, ch);
    tree_table.rows.push_back({std::to_string(ch), tree_text(tree),
                               tree.ports.empty() ? "-" : port_text(v, 0, tree.ports[0]),
                               mark(trees[ch % trees.size()])});
  }
  ring_table.note = "Balanced: no NIC and no link carries two channels while an equal one is idle.";
  out.add(ring_table);
  out.add(tree_table);
  if (const report::Table t = nic_table(v); !t.rows.empty()) out.add(t);
  if (uneven > 0)
    out.add(report::Highlight{
        fmt::format("{} of {} rings are unbalanced: some NIC or link is idle while another carries more "
                    "than its share.",
                    uneven, c.channels)});
  else
    out.add(report::Highlight{fmt::format(
                "{} finds {} balanced rings: no NIC and no link carries two while an equal one is idle.",
                nccl::library_name(c), c.channels)},
            report::Audience::kPage);
  return out;
}

std::vector<OutputFile> rings_pictures(const RingsRequest& q, const RingsResult& r) {
  if (q.svg.empty()) return {};
  return {{q.svg, report::render_svg(draw_rings(r))}};
}

}  // namespace

View rings_view() {
  View out = make_view("rings", rings_document);
  out.add_files(rings_pictures);
  return out;
}

}  // namespace busbar::views
