#include "busbar/report/internal/layered_layout.h"

#include <algorithm>
#include <cmath>

#include "busbar/report/plain.h"

namespace busbar::report {
namespace {

constexpr double kBoxHeight = 34, kLineGap = 8, kBoxGap = 8;
constexpr double kFramePad = 10, kFrameTitle = 22, kFrameGap = 22;
constexpr double kNarrowest = 34, kWidest = 240;
constexpr std::size_t kMostLines = 6;

/// Boxes per line: as many as fit, but preferably a divisor of n, so that all lines are full.
std::size_t per_line(std::size_t n, std::size_t fit) {
  fit = std::max<std::size_t>(1, fit);
  if (n <= fit) return std::max<std::size_t>(1, n);
  for (std::size_t k = fit; k > fit / 2; --k) {
    if (n % k == 0) return k;
  }
  const std::size_t lines = (n + fit - 1) / fit;
  return (n + lines - 1) / lines;
}

double box_width(const Layer& layer) {
  double widest = 0;
  for (const LayeredNode& node : layer.nodes) widest = std::max(widest, text_width(node.label, kLayeredLetter));
  return std::clamp(widest + 18, kNarrowest, kWidest);
}

/// Nodes by group; an unknown group number counts as the last group.
std::vector<PlacedGroup> split(const Layer& layer, const std::vector<std::uint32_t>& order) {
  std::vector<PlacedGroup> out(std::max<std::size_t>(1, layer.groups.size()));
  for (const std::uint32_t i : order) {
    out[std::min<std::size_t>(layer.nodes[i].group, out.size() - 1)].nodes.push_back(i);
  }
  return out;
}

/// Places the boxes of one group inside its frame and sets the frame's height.
void fill_group(PlacedLayer& placed, PlacedGroup& group, double width) {
  const double pad = placed.framed ? kFramePad : 0, title = placed.framed ? kFrameTitle : 0;
  const double room = group.frame.w - 2 * pad;
  const auto fit = static_cast<std::size_t>(std::max(1.0, std::floor((room + kBoxGap) / (width + kBoxGap))));
  const std::size_t columns = per_line(group.nodes.size(), fit);
  group.lines = std::max<std::size_t>(1, (group.nodes.size() + columns - 1) / columns);
  group.collapsed = group.lines > kMostLines || width > room + 1;
  if (group.collapsed) group.lines = 1;
  const double top = placed.area.y + title + (placed.framed ? 0 : pad);
  const double lines = static_cast<double>(group.lines);
  group.frame.y = placed.area.y;
  group.frame.h = title + pad + lines * kBoxHeight + (lines - 1) * kLineGap;
  const double pitch = room / static_cast<double>(columns);
  for (std::size_t i = 0; i < group.nodes.size(); ++i) {
    Box& box = placed.boxes[group.nodes[i]];
    const auto column = static_cast<double>(i % columns), line = static_cast<double>(i / columns);
    box = {group.frame.x + pad + (column + 0.5) * pitch - width / 2, top + line * (kBoxHeight + kLineGap), width,
           kBoxHeight};
    if (group.collapsed) box = {group.frame.x + pad, top, room, kBoxHeight};
  }
}

PlacedLayer place_layer(const Layer& layer, const std::vector<std::uint32_t>& order, double left, double right,
                        double top) {
  PlacedLayer out;
  out.framed = layer.groups.size() > 1;
  out.groups = split(layer, order);
  out.boxes.resize(layer.nodes.size());
  out.area = {left, top, right - left, 0};
  const double gaps = kFrameGap * static_cast<double>(out.groups.size() - 1);
  const double each = (right - left - gaps) / static_cast<double>(std::max<std::size_t>(1, layer.nodes.size()));
  double x = left;
  for (PlacedGroup& group : out.groups) {
    group.frame = {x, top, each * static_cast<double>(group.nodes.size()), 0};
    // Boxes keep a gap to their neighbours even if the labels need more room.
    const double room = group.frame.w - (out.framed ? 2 * kFramePad : 0);
    const double one_line = room / static_cast<double>(std::max<std::size_t>(1, group.nodes.size())) - kBoxGap;
    const double wanted = box_width(layer);
    fill_group(out, group, one_line >= kNarrowest ? std::min(wanted, std::max(one_line, kNarrowest)) : wanted);
    out.area.h = std::max(out.area.h, group.frame.h);
    x += group.frame.w + kFrameGap;
  }
  for (PlacedGroup& group : out.groups) group.frame.h = out.area.h;
  return out;
}

}  // namespace

double text_width(const std::string& text, double size) {
  return 0.58 * size * static_cast<double>(display_width(text));
}

Placed place(const LayeredDrawing& drawing, const LayeredOptions& options,
             const std::vector<std::size_t>& edges_below) {
  Placed out;
  const auto order = order_nodes(drawing);
  out.width = options.width;
  for (const Layer& layer : drawing.layers) out.left = std::max(out.left, text_width(layer.title, kLayeredLetter) + 20);
  out.left = std::min(out.left, options.width / 4);
  double y = 6;
  for (std::size_t i = 0; i < drawing.layers.size(); ++i) {
    out.layers.push_back(place_layer(drawing.layers[i], order[i], out.left, options.width - 4, y));
    const double crowd = i < edges_below.size() ? static_cast<double>(edges_below[i]) : 0;
    y += out.layers.back().area.h + 44 + std::min(56.0, 2.0 * crowd);
    out.height = out.layers.back().area.bottom() + 6;
  }
  return out;
}

}  // namespace busbar::report
