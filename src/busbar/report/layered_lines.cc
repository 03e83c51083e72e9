#include <algorithm>
#include <cmath>
#include <numeric>

#include "busbar/report/internal/layered_edges.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

constexpr double kBypass = 5;       // distance of lines that share a gap
constexpr std::size_t kCrowd = 64;  // between two layers; above this number lines are thinner
using Kind = Shape::Kind;

class LinePainter {
 public:
  LinePainter(const Placed& placed, const std::vector<LayeredEdge>& edges)
      : placed_(placed), edges_(edges), upper_(edges.size()), lower_(edges.size()), path_(edges.size()) {}

  std::vector<Shape> paint() {
    ports(
        upper_, [](const LayeredEdge& e) { return e.from; }, [](const LayeredEdge& e) { return e.to; });
    ports(
        lower_, [](const LayeredEdge& e) { return e.to; }, [](const LayeredEdge& e) { return e.from; });
    std::vector<std::size_t> order(edges_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return upper_[a] < upper_[b]; });
    for (const std::size_t i : order) find_path(i);  // from left to right, so that lines in one gap keep their order
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return edges_[a].heat < edges_[b].heat; });
    for (const std::size_t i : order) draw(i);
    return std::move(out_);
  }

 private:
  const Box& box(const LayeredEnd& e) const { return placed_.layers[e.layer].boxes[e.node]; }

  /// Where an edge ends on its box: edges are side by side, in the order of their other ends.
  template <typename Here, typename There>
  void ports(std::vector<double>& x, Here here, There there) {
    std::map<std::uint32_t, std::vector<std::size_t>> at;
    for (std::size_t i = 0; i < edges_.size(); ++i) at[here(edges_[i]).node].push_back(i);
    for (auto& [node, mine] : at) {
      const auto target = [&](std::size_t i) { return box(there(edges_[i])).middle(); };
      std::stable_sort(mine.begin(), mine.end(), [&](auto a, auto b) { return target(a) < target(b); });
      for (std::size_t k = 0; k < mine.size(); ++k) {
        const Box& b = box(here(edges_[mine[k]]));
        x[mine[k]] = b.x + b.w * static_cast<double>(k + 1) / static_cast<double>(mine.size() + 1);
      }
    }
  }

  /// Chooses the gap in every layer on the way: the nearest one towards the target.
  void find_path(std::size_t i) {
    const LayeredEdge& e = edges_[i];
    double x = upper_[i];
    for (std::uint32_t l = e.from.layer + 1; l < e.to.layer; ++l) {
      const double gap = gap_near(placed_.layers[l], x, lower_[i]);
      path_[i].push_back(gap + kBypass * used_[{l, std::lround(gap)}]++);
      x = gap;
    }
  }

  static double gap_near(const PlacedLayer& layer, double x, double target) {
    if (layer.boxes.empty()) return x;
    std::vector<Box> boxes = layer.boxes;
    std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.x < b.x; });
    std::vector<double> gaps{boxes.front().x - 12, boxes.back().right() + 12};
    for (std::size_t i = 0; i + 1 < boxes.size(); ++i) {
      if (boxes[i + 1].x > boxes[i].right()) gaps.push_back((boxes[i].right() + boxes[i + 1].x) / 2);
    }
    const auto cost = [&](double gap) { return std::fabs(gap - x) + 0.5 * std::fabs(gap - target); };
    return *std::min_element(gaps.begin(), gaps.end(), [&](double a, double b) { return cost(a) < cost(b); });
  }

  void draw(std::size_t i) {
    const LayeredEdge& e = edges_[i];
    if (e.from.layer == e.to.layer) return within_layer(e);
    double x = upper_[i], y = box(e.from).bottom();
    for (std::size_t k = 0; k < path_[i].size(); ++k) {
      const Box& area = placed_.layers[e.from.layer + 1 + k].area;
      add(e, Kind::kCurve, x, y, path_[i][k], area.y - 4);
      add(e, Kind::kLine, path_[i][k], area.y - 4, path_[i][k], area.bottom() + 4);
      x = path_[i][k];
      y = area.bottom() + 4;
    }
    add(e, path_[i].empty() ? Kind::kLine : Kind::kCurve, x, y, lower_[i], box(e.to).y);
  }

  /// Within a layer: straight between neighbours, otherwise along the lower side.
  void within_layer(const LayeredEdge& e) {
    const bool ordered = box(e.from).x <= box(e.to).x;
    const Box& a = box(ordered ? e.from : e.to);
    const Box& b = box(ordered ? e.to : e.from);
    const auto& boxes = placed_.layers[e.from.layer].boxes;
    const auto between = [&](const Box& c) { return c.x > a.x + 1 && c.x < b.x - 1 && c.y == a.y; };
    if (a.y == b.y && std::none_of(boxes.begin(), boxes.end(), between)) {
      return add(e, Kind::kLine, a.right(), a.y + a.h / 2, b.x, b.y + b.h / 2);
    }
    const double low = std::max(a.bottom(), b.bottom()) + 12;
    add(e, Kind::kLine, a.middle(), a.bottom(), a.middle(), low);
    add(e, Kind::kLine, a.middle(), low, b.middle(), low);
    add(e, Kind::kLine, b.middle(), low, b.middle(), b.bottom());
  }

  void add(const LayeredEdge& e, Kind kind, double x, double y, double to_x, double to_y) {
    out_.push_back(stroke_shape(e, kind, x, y, to_x, to_y));
    if (edges_.size() > kCrowd) out_.back().thickness *= 0.55;
  }

  const Placed& placed_;
  const std::vector<LayeredEdge>& edges_;
  std::vector<double> upper_, lower_;      ///< x of both ends, per edge
  std::vector<std::vector<double>> path_;  ///< x in every layer it passes, per edge
  std::map<std::pair<std::uint32_t, long>, int> used_;
  std::vector<Shape> out_;
};

}  // namespace

EdgesByLayers sort_edges(const LayeredDrawing& drawing) {
  const auto known = [&](const LayeredEnd& e) {
    return e.layer < drawing.layers.size() && e.node < drawing.layers[e.layer].nodes.size();
  };
  EdgesByLayers out;
  for (LayeredEdge e : drawing.edges) {
    if (!known(e.from) || !known(e.to)) continue;
    if (e.to.layer < e.from.layer) std::swap(e.from, e.to);
    out[{e.from.layer, e.to.layer}].push_back(std::move(e));
  }
  return out;
}

std::vector<Shape> draw_lines(const Placed& placed, const std::vector<LayeredEdge>& edges) {
  return LinePainter(placed, edges).paint();
}

Shape stroke_shape(const LayeredEdge& e, Shape::Kind kind, double x, double y, double to_x, double to_y) {
  const int tone = e.colour < 0 ? colour::kIdle : e.colour;
  return {kind, x, y, to_x - x, to_y - y, tone, e.heat, std::clamp(e.thickness, 0.5, 8.0), e.tip};
}

}  // namespace busbar::report
