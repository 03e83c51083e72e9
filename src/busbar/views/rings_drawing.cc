#include "busbar/views/rings_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "busbar/report/style.h"

namespace busbar::views {
namespace {

using questions::nic_name;
using questions::RingsResult;

constexpr std::uint32_t kNodesDrawn = 4, kChannelsDrawn = 8;
constexpr double kPanelGap = 16, kTitle = 24, kRowGap = 36, kDot = 10, kLetters = 11;

/// Positions of the GPUs of the first nodes in a panel with the given corner and width.
class RingPlaces {
 public:
  RingPlaces(const nccl::NcclComm& comm, double x, double y, double width) : comm_(comm) {
    nodes_ = std::min(comm.node_count(), kNodesDrawn);
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
  report::Point of(std::uint32_t rank) const {
    const Local l = local_[rank];
    const double turn = 2 * std::numbers::pi * l.gpu / static_cast<double>(comm_.nodes[l.node].ranks.size());
    const report::Point c = centre(l.node);
    return {c.x + radius_ * std::sin(turn), c.y - radius_ * std::cos(turn)};
  }
  report::Point centre(std::uint32_t node) const {
    return {x_ + cell_ * (node % columns_ + .5), y_ + cell_ * (node / columns_ + .5)};
  }
  std::uint32_t nodes() const { return nodes_; }
  std::uint32_t node_of(std::uint32_t rank) const { return local_[rank].node; }

 private:
  struct Local {
    std::uint32_t node = 0, gpu = 0;
  };
  const nccl::NcclComm& comm_;
  std::uint32_t nodes_ = 0, columns_ = 1;
  double cell_ = 0, radius_ = 0, x_ = 0, y_ = 0;
  std::vector<Local> local_;
};

/// A line with a head that ends before the circle of its target.
void ring_arrow(report::Drawing& d, report::Point a, report::Point b, int colour, double thickness, std::string tip) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = std::sqrt(dx * dx + dy * dy);
  if (length < 1) return;
  constexpr double kStop = kDot + 1, kHead = 6;
  const double ux = dx / length, uy = dy / length;
  const report::Point end{b.x - ux * kStop, b.y - uy * kStop};
  report::Shape line;
  line.kind = report::Shape::Kind::kLine;
  line.x = a.x, line.y = a.y;
  line.w = end.x - a.x, line.h = end.y - a.y;
  line.colour = colour;
  line.thickness = thickness;
  line.text = std::move(tip);
  d.shapes.push_back(line);
  report::Shape head;
  head.kind = report::Shape::Kind::kPolygon;
  head.colour = colour;
  head.points = {{end.x, end.y},
                 {end.x - ux * kHead - uy * kHead / 2, end.y - uy * kHead + ux * kHead / 2},
                 {end.x - ux * kHead + uy * kHead / 2, end.y - uy * kHead - ux * kHead / 2}};
  d.shapes.push_back(head);
}

void ring_word(report::Drawing& d, report::Point at, std::string text, double size, int colour, bool bold,
               report::Anchor anchor) {
  report::Shape s;
  s.kind = report::Shape::Kind::kText;
  s.x = at.x, s.y = at.y;
  s.text = std::move(text);
  s.size = size;
  s.colour = colour;
  s.bold = bold;
  s.anchor = anchor;
  d.shapes.push_back(s);
}

void draw_gpus(report::Drawing& d, const nccl::NcclComm& comm, const RingPlaces& places) {
  for (std::uint32_t n = 0; n < places.nodes(); ++n)
    for (const std::uint32_t r : comm.nodes[n].ranks) {
      const report::Point p = places.of(r);
      report::Shape s;
      s.kind = report::Shape::Kind::kCircle;
      s.x = p.x, s.y = p.y, s.w = kDot;
      s.colour = report::colour::kGpu;
      s.text = fmt::format("rank {}", r);
      d.shapes.push_back(s);
      ring_word(d, p, std::to_string(r), kLetters, report::colour::kInk, false, report::Anchor::kMiddle);
    }
}

/// NIC names in the middle of each node.
void draw_nics(report::Drawing& d, const RingsResult& r, const RingPlaces& places,
               const std::vector<nccl::NcclPorts>& ports) {
  for (std::uint32_t n = 0; n < places.nodes() && n < ports.size(); ++n) {
    const auto local = [&](std::uint32_t net) {
      const std::string name = nic_name(*r.comm, r.machine->topology, n, net);
      return name.substr(name.find('.') + 1);
    };
    const std::string in = local(ports[n].in.net), out = local(ports[n].out.net);
    const report::Point c = places.centre(n);
    if (in == out) {
      ring_word(d, c, in, kLetters, report::colour::kMuted, false, report::Anchor::kMiddle);
    } else {
      ring_word(d, {c.x, c.y - 7}, "in " + in, kLetters, report::colour::kMuted, false, report::Anchor::kMiddle);
      ring_word(d, {c.x, c.y + 7}, "out " + out, kLetters, report::colour::kMuted, false, report::Anchor::kMiddle);
    }
  }
}

void ring_panel(report::Drawing& d, const RingsResult& r, const RingPlaces& places, std::uint32_t channel) {
  const nccl::NcclRing ring = nccl::nccl_ring(*r.comm, channel);
  for (std::size_t i = 0; i < ring.order.size(); ++i) {
    const std::uint32_t a = ring.order[i], b = ring.order[(i + 1) % ring.order.size()];
    if (!places.drawn(a) || !places.drawn(b)) continue;
    const bool far = places.node_of(a) != places.node_of(b);
    ring_arrow(d, places.of(a), places.of(b), far ? report::colour::kDp : report::colour::kTp, far ? 2 : 1.5,
               fmt::format("{} to {}", a, b));
  }
  draw_nics(d, r, places, ring.ports);
}

void tree_panel(report::Drawing& d, const RingsResult& r, const RingPlaces& places, std::uint32_t channel) {
  const nccl::NcclTree tree = nccl::nccl_tree(*r.comm, channel);
  for (std::uint32_t child = 0; child < tree.up.size(); ++child) {
    if (tree.up[child] == nccl::kNoRank || !places.drawn(child)) continue;
    const auto parent = static_cast<std::uint32_t>(tree.up[child]);
    if (!places.drawn(parent)) continue;
    const bool far = places.node_of(child) != places.node_of(parent);
    ring_arrow(d, places.of(parent), places.of(child), far ? report::colour::kDp : report::colour::kPp, far ? 2 : 1.5,
               fmt::format("{} is the parent of {}", parent, child));
  }
  draw_nics(d, r, places, tree.ports);
}

}  // namespace

report::Drawing draw_rings(const RingsResult& r) {
  const nccl::NcclComm& c = *r.comm;
  report::Drawing d;
  d.title = fmt::format("Rings and trees of {}", r.cluster);
  d.description = "One picture per channel: GPUs on a circle for each node, an arrow for every hop.";
  d.width = report::kDrawingWidth;
  const std::vector<bool> balanced[2] = {nccl::balanced_rings(c), nccl::balanced_trees(c)};
  const std::uint32_t shown = std::min(c.search_channels, kChannelsDrawn);
  std::uint32_t per_row = 4;
  const auto panel = [&per_row] { return (report::kDrawingWidth - (per_row - 1) * kPanelGap) / per_row; };
  while (per_row > 1 && !RingPlaces(c, 0, 0, panel()).fits()) per_row /= 2;
  const double width = panel();
  double y = 0;
  for (const bool trees : {false, true}) {
    double height = 0;
    for (std::uint32_t ch = 0; ch < shown; ++ch) {
      if (ch > 0 && ch % per_row == 0) y += height + kRowGap;
      const double x = (ch % per_row) * (width + kPanelGap);
      const RingPlaces places(c, x, y, width);
      height = places.height();
      const bool even = balanced[trees ? 1 : 0][ch];
      ring_word(d, {x, y + kTitle / 2}, fmt::format("{} {}{}", trees ? "tree" : "ring", ch, even ? "" : ", UNBALANCED"),
                13, report::colour::kInk, !even, report::Anchor::kStart);
      if (trees)
        tree_panel(d, r, places, ch);
      else
        ring_panel(d, r, places, ch);
      draw_gpus(d, c, places);
    }
    y += height + kRowGap;
  }
  d.height = y;
  d.note =
      fmt::format("{} of {} searched channels and {} of {} nodes are drawn; with their copies there are {} channels.",
                  shown, c.search_channels, std::min(c.node_count(), kNodesDrawn), c.node_count(), c.channels);
  return d;
}

}  // namespace busbar::views
