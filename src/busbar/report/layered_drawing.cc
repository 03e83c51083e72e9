#include "busbar/report/layered_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/report/heat_legend.h"
#include "busbar/report/internal/layered_edges.h"
#include "busbar/report/internal/scale.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

constexpr double kStrip = 4;  // height of the heat strip in a box
constexpr double kSmall = 11;
using Kind = Shape::Kind;

/// Cut with an ellipsis if it does not fit.
std::string fitted(const std::string& label, double size, double width) {
  if (text_width(label, size) <= width) return label;
  std::string out = label;
  while (!out.empty() && text_width(out, size) + size > width) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
    if (!out.empty()) out.pop_back();
  }
  return out.empty() ? out : out + "\u2026";
}

/// Titles of a layer's frames. If one does not fit, the last word of each: "unit 12" becomes "12".
std::vector<std::string> frame_titles(const Layer& layer, const PlacedLayer& placed) {
  std::vector<std::string> out = layer.groups;
  bool fits = true;
  for (std::size_t g = 0; g < out.size(); ++g)
    fits = fits && text_width(out[g], kSmall) <= placed.groups[g].frame.w - 14;
  for (std::size_t g = 0; g < out.size(); ++g) {
    if (!fits) out[g] = fitted(out[g].substr(out[g].rfind(' ') + 1), kSmall, placed.groups[g].frame.w - 8);
  }
  return out;
}

class Painter {
 public:
  Painter(const LayeredDrawing& in, const LayeredOptions& options)
      : in_(in), options_(options), edges_(sort_edges(in)) {}

  Drawing paint() {
    std::vector<std::size_t> below(in_.layers.size(), 0);
    for (const auto& [layers, list] : edges_) {
      for (std::uint32_t l = layers.first; l < layers.second; ++l) below[l] += list.size();
    }
    placed_ = place(in_, options_, below);
    frames();
    edges();
    for (std::size_t l = 0; l < in_.layers.size(); ++l) nodes(in_.layers[l], placed_.layers[l]);
    out_.shapes.insert(out_.shapes.end(), over_.begin(), over_.end());
    titles();
    out_.title = in_.title;
    out_.description = in_.description;
    out_.note = in_.note;
    out_.width = placed_.width;
    double most = in_.heat_end;
    if (most <= 0)
      for (const Shape& s : out_.shapes) most = std::max(most, s.heat);
    most = heat_end(most);
    for (Shape& s : out_.shapes)
      if (s.heat >= 0) s.heat /= most;
    out_.height = hot_ ? add_heat_legend(in_.heat_name, most, placed_.height, out_) : placed_.height;
    out_.height = link_legend(out_.height);
    return std::move(out_);
  }

 private:
  void frames() {
    for (const PlacedLayer& layer : placed_.layers) {
      for (const PlacedGroup& group : layer.groups) {
        if (!layer.framed || group.nodes.empty()) continue;
        out_.shapes.push_back(
            {Kind::kRect, group.frame.x, group.frame.y, group.frame.w, group.frame.h, colour::kFrame});
        out_.shapes.back().radius = 6;
      }
    }
  }

  void edges() {
    const auto block = [&](std::uint32_t l) {
      const auto& groups = placed_.layers[l].groups;
      return std::any_of(groups.begin(), groups.end(), [](const auto& g) { return g.lines > 1 || g.collapsed; });
    };
    for (const auto& [layers, list] : edges_) {
      hot_ = hot_ || std::any_of(list.begin(), list.end(), [](const LayeredEdge& e) { return e.heat >= 0; });
      const bool crowded = list.size() > options_.most_lines || block(layers.first) || block(layers.second);
      if (crowded && layers.first != layers.second) {
        const Bands bands = draw_bands(in_, placed_, list);
        out_.shapes.insert(out_.shapes.end(), bands.shapes.begin(), bands.shapes.end());
        over_.insert(over_.end(), bands.labels.begin(), bands.labels.end());
      } else if (!crowded) {
        singly_.push_back(&list);
        const std::vector<Shape> lines = draw_lines(placed_, list);
        out_.shapes.insert(out_.shapes.end(), lines.begin(), lines.end());
      }
    }
  }

  void nodes(const Layer& layer, const PlacedLayer& placed) {
    for (const PlacedGroup& group : placed.groups) {
      if (group.nodes.empty()) continue;
      if (!group.collapsed) {
        for (const std::uint32_t i : group.nodes) node(layer.nodes[i], placed.boxes[i]);
        continue;
      }
      LayeredNode all = layer.nodes[group.nodes.front()];
      for (const std::uint32_t i : group.nodes) all.heat = std::max(all.heat, layer.nodes[i].heat);
      all.label = fmt::format("{}", group.nodes.size());
      all.tip = fmt::format("{} x {}", group.nodes.size(), layer.title);
      node(all, placed.boxes[group.nodes.front()]);
    }
  }

  void node(const LayeredNode& n, const Box& b) {
    out_.shapes.push_back({Kind::kRect, b.x, b.y, b.w, b.h, n.colour, -1, 1, n.tip.empty() ? n.label : n.tip});
    out_.shapes.back().radius = 4;
    const bool warm = n.heat >= 0;
    hot_ = hot_ || warm;
    if (warm) out_.shapes.push_back({Kind::kRect, b.x + 3, b.bottom() - kStrip - 3, b.w - 6, kStrip, 0, n.heat});
    const double size = text_width(n.label, kLayeredLetter) + 4 > b.w ? kSmall : kLayeredLetter;
    const double y = b.y + (b.h - (warm ? kStrip + 2 : 0)) / 2;
    out_.shapes.push_back(
        text_shape(b.middle(), y, fitted(n.label, size, b.w - 2), colour::kInk, Anchor::kMiddle, size));
  }

  void titles() {
    for (std::size_t l = 0; l < in_.layers.size(); ++l) {
      const PlacedLayer& layer = placed_.layers[l];
      out_.shapes.push_back(text_shape(2, layer.area.y + layer.area.h / 2,
                                       fitted(in_.layers[l].title, kLayeredLetter, placed_.left - 10), colour::kMuted,
                                       Anchor::kStart));
      if (!layer.framed) continue;
      const auto words = frame_titles(in_.layers[l], layer);
      for (std::size_t g = 0; g < words.size(); ++g) {
        const Box& f = layer.groups[g].frame;
        if (!layer.groups[g].nodes.empty())
          out_.shapes.push_back(text_shape(f.x + 10, f.y + 11, words[g], colour::kMuted, Anchor::kStart, kSmall));
      }
    }
  }

  /// One line of text for each pair of layers whose links are drawn singly: how many of them, and what each carries.
  double link_legend(double y) {
    constexpr double kLine = 18;
    const double top = y;
    for (const std::vector<LayeredEdge>* list : singly_) {
      std::map<std::string, std::uint32_t> counts;
      for (const LayeredEdge& e : *list)
        if (!e.each.empty()) counts[e.each] += e.links;
      if (counts.empty()) continue;
      std::string text = fmt::format("{} to {}:", in_.layers[list->front().from.layer].title,
                                     in_.layers[list->front().to.layer].title);
      for (const auto& [each, n] : counts)
        text += fmt::format("{} {} {}{} of {}", text.back() == ':' ? "" : " and", n, in_.link_name, n == 1 ? "" : "s",
                            each);
      y += kLine;
      out_.shapes.push_back(text_shape(2, y - 4, text, colour::kMuted, Anchor::kStart));
    }
    return y > top ? y + 8 : y;
  }

  const LayeredDrawing& in_;
  const LayeredOptions& options_;
  EdgesByLayers edges_;
  Placed placed_;
  Drawing out_;
  std::vector<const std::vector<LayeredEdge>*> singly_;  ///< edges drawn as lines, by pair of layers
  std::vector<Shape> over_;                              ///< labels of bands: above the boxes
  bool hot_ = false;                                     ///< something shows a load: a legend is needed
};

}  // namespace

Drawing lay_out(const LayeredDrawing& drawing, const LayeredOptions& options) {
  return Painter(drawing, options).paint();
}

}  // namespace busbar::report
