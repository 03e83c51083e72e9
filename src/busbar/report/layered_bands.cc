#include <fmt/core.h>

#include <algorithm>

#include "busbar/report/internal/layered_edges.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

constexpr std::size_t kHottest = 12;  // most lines drawn on one band
constexpr double kHotter = 0.1;       // a link this far above the mean is drawn singly: one step of the scale

using Extent = std::pair<double, double>;  ///< first and last x

struct Band {
  std::vector<const LayeredEdge*> edges;
  Extent top, bottom;
  std::uint64_t links = 0;
  double mean = -1, worst = -1;
  std::string name, each;  ///< "cable", "50 GB/s"; empty: they differ
  double x() const { return (top.first + top.second + bottom.first + bottom.second) / 4; }
};

std::size_t group_of(const LayeredDrawing& drawing, const LayeredEnd& e) {
  const Layer& layer = drawing.layers[e.layer];
  return std::min<std::size_t>(layer.nodes[e.node].group, std::max<std::size_t>(1, layer.groups.size()) - 1);
}

Extent extent(const PlacedLayer& layer, std::size_t g) {
  const PlacedGroup& group = layer.groups[g];
  if (layer.framed || group.nodes.empty()) return {group.frame.x + 8, group.frame.right() - 8};
  Extent out{group.frame.right(), group.frame.x};
  for (const std::uint32_t n : group.nodes) {
    out = {std::min(out.first, layer.boxes[n].x), std::max(out.second, layer.boxes[n].right())};
  }
  return out;
}

/// The k-th of n equal pieces, with a small gap between them.
Extent slice(Extent s, std::size_t k, std::size_t n) {
  const double step = (s.second - s.first) / static_cast<double>(n);
  const double air = n > 1 ? step * 0.06 : 0;
  return {s.first + step * static_cast<double>(k) + air, s.first + step * static_cast<double>(k + 1) - air};
}

std::vector<Band> collect(const LayeredDrawing& drawing, const Placed& placed, const std::vector<LayeredEdge>& edges) {
  std::map<std::pair<std::size_t, std::size_t>, Band> pairs;
  for (const LayeredEdge& e : edges) pairs[{group_of(drawing, e.from), group_of(drawing, e.to)}].edges.push_back(&e);
  std::map<std::size_t, std::size_t> out_of, into;
  for (const auto& [key, band] : pairs) ++out_of[key.first], ++into[key.second];
  std::map<std::size_t, std::size_t> left, arrived;
  std::vector<Band> out;
  for (auto& [key, band] : pairs) {
    const PlacedLayer& upper = placed.layers[edges.front().from.layer];
    const PlacedLayer& lower = placed.layers[edges.front().to.layer];
    band.top = slice(extent(upper, key.first), left[key.first]++, out_of[key.first]);
    band.bottom = slice(extent(lower, key.second), arrived[key.second]++, into[key.second]);
    double sum = 0;
    band.name = drawing.link_name;
    band.each = band.edges.front()->each;
    for (const LayeredEdge* e : band.edges) {
      if (e->each != band.each) band.each.clear();
      band.links += e->links;
      sum += std::max(0.0, e->heat);
      band.worst = std::max(band.worst, e->heat);
    }
    if (band.worst >= 0) band.mean = sum / static_cast<double>(band.edges.size());
    out.push_back(std::move(band));
  }
  return out;
}

/// 0: the full label; 1: the count with its noun; 2: the count.
std::string words(const Band& band, int brevity) {
  std::string out = fmt::format("{}", band.links);
  if (brevity < 2) out += fmt::format(" {}{}", band.name, band.links == 1 ? "" : "s");
  if (brevity < 1 && !band.each.empty()) out += " of " + band.each;
  if (brevity < 1 && band.worst >= 0) {
    out += fmt::format(", mean {:.0f} %, busiest {:.0f} %", 100 * band.mean, 100 * band.worst);
  }
  return out;
}

/// Labels on plates of page colour, readable on any band. All use the longest form that fits side by side.
std::vector<Shape> labels(const std::vector<Band>& bands, double y, double left, double right) {
  for (int brevity = 0; brevity < 3; ++brevity) {
    std::vector<Extent> plates;
    for (const Band& band : bands) {
      const double half = text_width(words(band, brevity), kLayeredLetter) / 2 + 8;
      plates.emplace_back(band.x() - half, band.x() + half);
    }
    std::sort(plates.begin(), plates.end());
    bool clear = plates.empty() || (plates.front().first >= left && plates.back().second <= right);
    for (std::size_t i = 0; i + 1 < plates.size(); ++i) clear = clear && plates[i].second + 4 <= plates[i + 1].first;
    if (!clear) continue;
    std::vector<Shape> out;
    for (const Band& band : bands) {
      const std::string text = words(band, brevity);
      const double width = text_width(text, kLayeredLetter) + 16;
      out.push_back({Shape::Kind::kRect, band.x() - width / 2, y - 10, width, 20, colour::kFrame});
      out.back().radius = 10;
      out.push_back(text_shape(band.x(), y, text, colour::kInk, Anchor::kMiddle, kLayeredLetter));
    }
    return out;
  }
  return {};
}

/// Draws the links whose load is well above the mean of their band.
void draw_hottest(const Band& band, const Placed& placed, std::vector<Shape>& out) {
  std::vector<const LayeredEdge*> hot;
  for (const LayeredEdge* e : band.edges) {
    if (e->heat > band.mean + kHotter) hot.push_back(e);
  }
  std::stable_sort(hot.begin(), hot.end(), [](const auto* a, const auto* b) { return a->heat > b->heat; });
  if (hot.size() > kHottest) hot.resize(kHottest);
  std::reverse(hot.begin(), hot.end());
  for (const LayeredEdge* e : hot) {
    const PlacedLayer& upper = placed.layers[e->from.layer];
    const PlacedLayer& lower = placed.layers[e->to.layer];
    const Box& a = upper.boxes[e->from.node];
    const Box& b = lower.boxes[e->to.node];
    LayeredEdge strong = *e;
    strong.thickness = std::max(2.5, e->thickness);
    const double y = std::max(a.bottom(), upper.area.bottom()),
                 to_y = std::min(b.y, lower.area.y);  // not over other boxes
    out.push_back(stroke_shape(strong, Shape::Kind::kLine, a.middle(), y, b.middle(), to_y));
  }
}

}  // namespace

Bands draw_bands(const LayeredDrawing& drawing, const Placed& placed, const std::vector<LayeredEdge>& edges) {
  Bands out;
  if (edges.empty()) return out;
  const double top = placed.layers[edges.front().from.layer].area.bottom();
  const double bottom = placed.layers[edges.front().to.layer].area.y;
  const std::vector<Band> bands = collect(drawing, placed, edges);
  for (const Band& band : bands) {
    Shape s{Shape::Kind::kPolygon};
    s.colour = colour::kIdle;
    s.heat = band.mean;
    s.opacity = 0.5;
    s.points = {
        {band.top.first, top}, {band.top.second, top}, {band.bottom.second, bottom}, {band.bottom.first, bottom}};
    s.text = words(band, 0);
    out.shapes.push_back(std::move(s));
  }
  for (const Band& band : bands) draw_hottest(band, placed, out.shapes);
  out.labels = labels(bands, (top + bottom) / 2, 0, placed.width);
  return out;
}

}  // namespace busbar::report
