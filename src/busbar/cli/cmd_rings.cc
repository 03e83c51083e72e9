#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/rings_report.h"
#include "busbar/cli/session.h"
#include "busbar/formats/nccl_graph_xml.h"
#include "busbar/nccl/comm.h"
#include "busbar/predict/environment.h"
#include "busbar/report/style.h"
#include "busbar/step/machine.h"

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

/// The graphs of the first node, with GPUs by CUDA number, as in NCCL_GRAPH_DUMP_FILE. Graphs without channels are
/// omitted, as if they had not been searched.
std::vector<NcclGraphRecord> graph_records(const NcclComm& comm) {
  const NcclNodeShape& shape = comm.shapes[comm.nodes.front().shape];
  const NcclGraphs& g = shape.graphs;
  const NcclGraph* all[] = {&g.ring, &g.tree, &g.collnet_chain, &g.nvls, &g.collnet_direct};
  std::vector<NcclGraphRecord> out;
  for (int id = 0; id < 5; ++id)
    if (all[id]->channels > 0) out.push_back(record_of(id, *all[id], shape.system));
  return out;
}

constexpr std::uint32_t kMostNodes = 4, kMostChannels = 8;
constexpr double kPanelGap = 16, kTitle = 24, kRowGap = 36, kDot = 10, kLetters = 11;

/// Positions of the GPUs of the first nodes in a panel with the given corner and width.
class Places {
 public:
  Places(const NcclComm& comm, double x, double y, double width) : comm_(comm) {
    nodes_ = std::min(comm.node_count(), kMostNodes);
    columns_ = nodes_ > 1 ? 2 : 1;
    cell_ = width / columns_;
    radius_ = cell_ / 2 - 18;
    x_ = x;
    y_ = y + kTitle;
    local_.resize(comm.ranks, {UINT32_MAX, 0});
    for (std::uint32_t n = 0; n < nodes_; ++n)
      for (std::uint32_t i = 0; i < comm.nodes[n].ranks.size(); ++i) local_[comm.nodes[n].ranks[i]] = {n, i};
  }
  /// Whether the dots of a node fit on its circle.
  bool fits() const {
    const auto most =
        std::max_element(comm_.nodes.begin(), comm_.nodes.begin() + nodes_, [](const auto& a, const auto& b) {
          return a.ranks.size() < b.ranks.size();
        })->ranks.size();
    return 2 * std::numbers::pi * radius_ >= 2 * kDot * static_cast<double>(most);
  }
  double height() const { return kTitle + cell_ * ((nodes_ + columns_ - 1) / columns_) + 4; }
  bool drawn(std::uint32_t rank) const { return local_[rank].node != UINT32_MAX; }
  Point of(std::uint32_t rank) const {
    const Local l = local_[rank];
    const double turn = 2 * std::numbers::pi * l.gpu / static_cast<double>(comm_.nodes[l.node].ranks.size());
    const Point c = centre(l.node);
    return {c.x + radius_ * std::sin(turn), c.y - radius_ * std::cos(turn)};
  }
  Point centre(std::uint32_t node) const {
    return {x_ + cell_ * (node % columns_ + .5), y_ + cell_ * (node / columns_ + .5)};
  }
  std::uint32_t nodes() const { return nodes_; }
  std::uint32_t node_of(std::uint32_t rank) const { return local_[rank].node; }

 private:
  struct Local {
    std::uint32_t node = 0, gpu = 0;
  };
  const NcclComm& comm_;
  std::uint32_t nodes_ = 0, columns_ = 1;
  double cell_ = 0, radius_ = 0, x_ = 0, y_ = 0;
  std::vector<Local> local_;
};

/// A line with a head that ends before the circle of its target.
void arrow(Drawing& d, Point a, Point b, int colour, double thickness, std::string tip) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = std::sqrt(dx * dx + dy * dy);
  if (length < 1) return;
  constexpr double kStop = kDot + 1, kHead = 6;
  const double ux = dx / length, uy = dy / length;
  const Point end{b.x - ux * kStop, b.y - uy * kStop};
  Shape line;
  line.kind = Shape::Kind::kLine;
  line.x = a.x, line.y = a.y;
  line.w = end.x - a.x, line.h = end.y - a.y;
  line.colour = colour;
  line.thickness = thickness;
  line.text = std::move(tip);
  d.shapes.push_back(line);
  Shape head;
  head.kind = Shape::Kind::kPolygon;
  head.colour = colour;
  head.points = {{end.x, end.y},
                 {end.x - ux * kHead - uy * kHead / 2, end.y - uy * kHead + ux * kHead / 2},
                 {end.x - ux * kHead + uy * kHead / 2, end.y - uy * kHead - ux * kHead / 2}};
  d.shapes.push_back(head);
}

void word(Drawing& d, Point at, std::string text, double size, int colour, bool bold, Anchor anchor) {
  Shape s;
  s.kind = Shape::Kind::kText;
  s.x = at.x, s.y = at.y;
  s.text = std::move(text);
  s.size = size;
  s.colour = colour;
  s.bold = bold;
  s.anchor = anchor;
  d.shapes.push_back(s);
}

void gpus(Drawing& d, const NcclComm& comm, const Places& places) {
  for (std::uint32_t n = 0; n < places.nodes(); ++n)
    for (const std::uint32_t r : comm.nodes[n].ranks) {
      const Point p = places.of(r);
      Shape s;
      s.kind = Shape::Kind::kCircle;
      s.x = p.x, s.y = p.y, s.w = kDot;
      s.colour = colour::kGpu;
      s.text = fmt::format("rank {}", r);
      d.shapes.push_back(s);
      word(d, p, std::to_string(r), kLetters, colour::kInk, false, Anchor::kMiddle);
    }
}

/// NIC names in the middle of each node.
void nics(Drawing& d, const RingsView& v, const Places& places, const std::vector<NcclPorts>& ports) {
  for (std::uint32_t n = 0; n < places.nodes() && n < ports.size(); ++n) {
    const auto local = [&](std::uint32_t net) {
      const std::string name = nic_name(v, n, net);
      return name.substr(name.find('.') + 1);
    };
    const std::string in = local(ports[n].in.net), out = local(ports[n].out.net);
    const Point c = places.centre(n);
    if (in == out) {
      word(d, c, in, kLetters, colour::kMuted, false, Anchor::kMiddle);
    } else {
      word(d, {c.x, c.y - 7}, "in " + in, kLetters, colour::kMuted, false, Anchor::kMiddle);
      word(d, {c.x, c.y + 7}, "out " + out, kLetters, colour::kMuted, false, Anchor::kMiddle);
    }
  }
}

void ring_panel(Drawing& d, const RingsView& v, const Places& places, std::uint32_t channel) {
  const NcclRing ring = nccl_ring(*v.comm, channel);
  for (std::size_t i = 0; i < ring.order.size(); ++i) {
    const std::uint32_t a = ring.order[i], b = ring.order[(i + 1) % ring.order.size()];
    if (!places.drawn(a) || !places.drawn(b)) continue;
    const bool far = places.node_of(a) != places.node_of(b);
    arrow(d, places.of(a), places.of(b), far ? colour::kDp : colour::kTp, far ? 2 : 1.5, fmt::format("{} to {}", a, b));
  }
  nics(d, v, places, ring.ports);
}

void tree_panel(Drawing& d, const RingsView& v, const Places& places, std::uint32_t channel) {
  const NcclTree tree = nccl_tree(*v.comm, channel);
  for (std::uint32_t r = 0; r < tree.up.size(); ++r) {
    if (tree.up[r] == kNoRank || !places.drawn(r)) continue;
    const auto parent = static_cast<std::uint32_t>(tree.up[r]);
    if (!places.drawn(parent)) continue;
    const bool far = places.node_of(r) != places.node_of(parent);
    arrow(d, places.of(parent), places.of(r), far ? colour::kDp : colour::kPp, far ? 2 : 1.5,
          fmt::format("{} is the parent of {}", parent, r));
  }
  nics(d, v, places, tree.ports);
}

/// Draws the first nodes and channels; the note says what is omitted.
Drawing draw_rings(const RingsView& v) {
  const NcclComm& c = *v.comm;
  Drawing d;
  d.title = fmt::format("Rings and trees of {}", v.cluster);
  d.description = "One picture per channel: GPUs on a circle for each node, an arrow for every hop.";
  d.width = kDrawingWidth;
  const std::vector<bool> balanced[2] = {balanced_rings(c), balanced_trees(c)};
  const std::uint32_t shown = std::min(c.search_channels, kMostChannels);
  std::uint32_t per_row = 4;
  const auto panel = [&per_row] { return (kDrawingWidth - (per_row - 1) * kPanelGap) / per_row; };
  while (per_row > 1 && !Places(c, 0, 0, panel()).fits()) per_row /= 2;
  const double width = panel();
  double y = 0;
  for (const bool trees : {false, true}) {
    double height = 0;
    for (std::uint32_t ch = 0; ch < shown; ++ch) {
      if (ch > 0 && ch % per_row == 0) y += height + kRowGap;
      const double x = (ch % per_row) * (width + kPanelGap);
      const Places places(c, x, y, width);
      height = places.height();
      const bool even = balanced[trees ? 1 : 0][ch];
      word(d, {x, y + kTitle / 2}, fmt::format("{} {}{}", trees ? "tree" : "ring", ch, even ? "" : ", UNBALANCED"), 13,
           colour::kInk, !even, Anchor::kStart);
      if (trees)
        tree_panel(d, v, places, ch);
      else
        ring_panel(d, v, places, ch);
      gpus(d, c, places);
    }
    y += height + kRowGap;
  }
  d.height = y;
  d.note =
      fmt::format("{} of {} searched channels and {} of {} nodes are drawn; with their copies there are {} channels.",
                  shown, c.search_channels, std::min(c.node_count(), kMostNodes), c.node_count(), c.channels);
  return d;
}

struct RingsFlags {
  CommonOptions common;
  std::string cluster, version = "2.30", cross_nic, svg, graph;
  std::vector<std::string> env;
  std::uint32_t gpus = 0, copies = 1;
  bool no_nvls = false, no_pxn = false, collnet = false;
};

Result<NcclSettings> settings_of(const RingsFlags& o, Cluster& c) {
  Result<NcclVersion> version = parse_nccl_version(o.version);
  if (!version.ok()) {
    version.error().where.path = "--nccl";
    return version.error();
  }
  Result<NcclSettings> set = apply_nccl_environment(c, *version, o.env);
  if (!set.ok()) {
    set.error().where.path = "--env";
    return set.error();
  }
  NcclSettings s = *std::move(set);
  if (!o.cross_nic.empty() && o.cross_nic != "0" && o.cross_nic != "1" && o.cross_nic != "2")
    return flag_error("--cross-nic", fmt::format("'{}' is not 0 (never), 1 (always) or 2 (if faster)", o.cross_nic));
  if (!o.cross_nic.empty()) s.cross_nic = o.cross_nic[0] - '0';
  if (o.no_nvls) s.nvls = false;
  if (o.no_pxn) s.pxn = false;
  if (o.collnet) s.collnet = true;
  return s;
}

Result<int> run(const RingsFlags& o) {
  BUSBAR_ASSIGN(Cluster cluster, load_machine(o.cluster, o.common.overrides));
  BUSBAR_ASSIGN(const NcclSettings settings, settings_of(o, cluster));
  auto gpus = cluster.topology.gpus();
  if (gpus.empty()) return invalid("there is no GPU in this machine", {o.cluster, 0, 0, ""});
  if (o.gpus > gpus.size()) return too_many_gpus("-g", o.gpus, cluster, o.common.overrides);
  if (o.copies == 0) return flag_error("--copies", "at least 1 node is needed");
  constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 20;  // takes some seconds
  if (std::uint64_t{o.copies} * gpus.size() > kMostRanks)
    return flag_error("--copies",
                      fmt::format("{} copies of {} GPUs are more than {} ranks", o.copies, gpus.size(), kMostRanks));
  if (o.gpus > 0) gpus = gpus.first(o.gpus);
  BUSBAR_ASSIGN(const NcclComm comm, build_nccl_comm(cluster.topology, gpus, settings, o.copies));
  const RingsView view{&comm, &cluster.topology, cluster.name};
  Json j{{"schema", "busbar.rings/1"},
         {"cluster", cluster.name},
         {"gpus", comm.ranks},
         {"nodes", comm.node_count()},
         {"nccl_version", to_string(settings.version)},
         {"library", library_name(comm)},
         {"rings_from", origin_of_rings(comm)},
         {"cross_nic", settings.cross_nic},
         {"inputs_hash", inputs_hash(o.common, cluster.text)}};
  Document d;
  d.command = o.common.typed;
  if (o.common.for_programs()) rings_to_json(view, j);
  if (!o.common.for_programs() || !o.common.html.empty()) rings_to_document(view, d);
  if (!o.common.html.empty()) d.add(draw_rings(view), Audience::kPage);
  if (!o.svg.empty()) BUSBAR_RETURN_IF_ERROR(write_file(o.svg, render_svg(draw_rings(view))));
  if (!o.graph.empty()) BUSBAR_RETURN_IF_ERROR(write_file(o.graph, write_nccl_graph_xml(graph_records(comm))));
  return deliver(o.common, j, d);
}

}  // namespace

Command rings_command(const std::string& typed) {
  const auto o = std::make_shared<RingsFlags>();
  Command c = new_command(o->common, typed, "rings", "print and draw the rings, trees and NICs that NCCL would use");
  c.examples =
      "  busbar rings dgx-h100:2\n"
      "  busbar rings dgx-h100:2 --cross-nic 2 --nccl 2.30 --svg rings.svg\n"
      "  busbar rings node.xml --copies 4 --json\n";
  c.positionals = {cluster_word(o->cluster)};
  c.flags = {
      {"-g,--gpus", "N", "use the first N GPUs (default all)", "Communicator", &o->gpus},
      {"--copies", "N", "use N copies of the machine on one network (default 1)", "Communicator", &o->copies},
      {"--nccl", "VERSION", "NCCL release whose rules apply, 2.18 to 2.30 (default 2.30)", "Rules", &o->version},
      {"--env", "NCCL_X=Y", "set a variable of NCCL; may be given several times", "Rules", &o->env},
      {"--cross-nic", "0|1|2", "NCCL_CROSS_NIC (default: 0 on a fabric of rails, otherwise NCCL's default 2)", "Rules",
       &o->cross_nic},
      {"--no-nvls", "", "NCCL_NVLS_ENABLE=0", "Rules", &o->no_nvls},
      {"--collnet", "", "NCCL_COLLNET_ENABLE=1, on a network whose switches reduce", "Rules", &o->collnet},
      {"--no-pxn", "", "NCCL_PXN_DISABLE=1", "Rules", &o->no_pxn},
      {"--svg", "FILE", "draw the channels", "Files", &o->svg},
      {"--nccl-graph", "FILE", "write the graphs of the first node for NCCL_GRAPH_FILE", "Files", &o->graph},
  };
  c.flags.push_back(cluster_flag(o->cluster));
  add_common_flags(c, o->common, Engines::kNone);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
