#include <algorithm>
#include <cmath>
#include <numeric>

#include "busbar/report/internal/layered_layout.h"

namespace busbar::report {
namespace {

/// The mean place (0..1) of a node's neighbours in layers above; without them, of those below; otherwise its own place.
class Places {
 public:
  explicit Places(const LayeredDrawing& drawing) : drawing_(drawing) {
    for (const Layer& layer : drawing.layers) {
      x_.emplace_back(layer.nodes.size());
      for (std::size_t i = 0; i < layer.nodes.size(); ++i) x_.back()[i] = even(i, layer.nodes.size());
    }
  }
  void line_up(std::uint32_t layer, std::vector<std::uint32_t>& order) {
    const std::vector<double> wanted = means(layer);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return wanted[a] < wanted[b]; });
    for (std::size_t i = 0; i < order.size(); ++i) x_[layer][order[i]] = even(i, order.size());
  }

 private:
  static double even(std::size_t i, std::size_t n) { return (static_cast<double>(i) + 0.5) / static_cast<double>(n); }

  std::vector<double> means(std::uint32_t layer) const {
    struct Sum {
      double x = 0;
      int n = 0;
      void add(double v) { x += v, ++n; }
    };
    const std::size_t nodes = drawing_.layers[layer].nodes.size();
    std::vector<Sum> above(nodes), below(nodes);
    const auto visit = [&](const LayeredEnd& here, const LayeredEnd& there) {
      if (here.layer != layer || here.node >= nodes || there.layer >= x_.size()) return;
      if (there.layer == layer || there.node >= x_[there.layer].size()) return;
      (there.layer < layer ? above : below)[here.node].add(x_[there.layer][there.node]);
    };
    for (const LayeredEdge& e : drawing_.edges) {
      visit(e.from, e.to);
      visit(e.to, e.from);
    }
    std::vector<double> out(x_[layer]);
    for (std::size_t i = 0; i < nodes; ++i) {
      const Sum& sum = above[i].n > 0 ? above[i] : below[i];
      // Rounded, because sums of equal places in another order must be equal; then ties keep the given order.
      if (sum.n > 0) out[i] = std::round(sum.x / sum.n * 1e6) * 1e-6;
    }
    return out;
  }

  const LayeredDrawing& drawing_;
  std::vector<std::vector<double>> x_;  ///< place of every node in its layer, 0..1
};

}  // namespace

std::vector<std::vector<std::uint32_t>> order_nodes(const LayeredDrawing& drawing) {
  std::vector<std::vector<std::uint32_t>> out;
  Places places(drawing);
  for (std::uint32_t l = 0; l < drawing.layers.size(); ++l) {
    out.emplace_back(drawing.layers[l].nodes.size());
    std::iota(out.back().begin(), out.back().end(), 0u);
    if (l > 0 && drawing.layers[l].groups.size() < 2) places.line_up(l, out.back());
  }
  return out;
}

}  // namespace busbar::report
