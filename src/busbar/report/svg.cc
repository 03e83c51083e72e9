#include <fmt/core.h>

#include <algorithm>

#include "busbar/report/internal/html_parts.h"
#include "busbar/report/internal/scale.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

using Kind = Shape::Kind;

constexpr double kSmallest = 11;  // px: letters that people still read

bool is_stroke(Kind kind) { return kind == Kind::kLine || kind == Kind::kCurve; }

std::string class_of(const Shape& s) {
  const int tone = known_colour(s.colour);
  if (is_stroke(s.kind)) return s.heat >= 0 ? fmt::format("n h{}", heat_step(s.heat)) : fmt::format("n l{}", tone);
  if (s.kind == Kind::kText) return std::string(tone == colour::kMuted ? "mut" : "ink") + (s.bold ? " bold" : "");
  if (s.heat >= 0) return fmt::format("g{}", heat_step(s.heat));
  const bool edged = s.kind != Kind::kPolygon && ink(tone).light_fill != ink(tone).light_edge;
  return edged ? fmt::format("c{0} l{0}", tone) : fmt::format("c{}", tone);
}

std::string common(const Shape& s) {
  std::string out = " class=\"" + class_of(s) + "\"";
  if (s.kind != Kind::kText && s.thickness != 1) out += " stroke-width=\"" + coordinate(s.thickness) + "\"";
  if (s.dashed) out += " stroke-dasharray=\"5 4\"";
  if (s.opacity < 1) out += " opacity=\"" + coordinate(std::max(0.0, s.opacity)) + "\"";
  return out;
}

std::string text_shape(const Shape& s) {
  const char* anchor = s.anchor == Anchor::kStart ? "start" : s.anchor == Anchor::kEnd ? "end" : "middle";
  return fmt::format("<text x=\"{}\" y=\"{}\" dy=\".36em\" font-size=\"{}\" text-anchor=\"{}\"{}>{}</text>\n",
                     coordinate(s.x), coordinate(s.y), coordinate(s.size), anchor, common(s), escape_markup(s.text));
}

/// The element without its end: "<rect .../" lacks the bracket, so that a tool tip may follow.
std::string open_shape(const Shape& s) {
  const auto c = [](double v) { return coordinate(v); };
  switch (s.kind) {
    case Kind::kRect: {
      const std::string round = s.radius > 0 ? fmt::format(" rx=\"{}\"", c(s.radius)) : "";
      return fmt::format("rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", c(s.x), c(s.y), c(drawable(s.w)),
                         c(drawable(s.h)), round);
    }
    case Kind::kLine:
      return fmt::format("line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", c(s.x), c(s.y), c(s.x + s.w), c(s.y + s.h));
    case Kind::kCurve:
      return fmt::format("path d=\"M{} {}C{} {} {} {} {} {}\"", c(s.x), c(s.y), c(s.x), c(s.y + s.h / 2), c(s.x + s.w),
                         c(s.y + s.h / 2), c(s.x + s.w), c(s.y + s.h));
    case Kind::kCircle:
      return fmt::format("circle cx=\"{}\" cy=\"{}\" r=\"{}\"", c(s.x), c(s.y), c(drawable(s.w)));
    case Kind::kPolygon: {
      std::string points;
      for (const auto& [x, y] : s.points) points += fmt::format("{}{},{}", points.empty() ? "" : " ", c(x), c(y));
      return fmt::format("polygon points=\"{}\"", points);
    }
    case Kind::kText:
      break;
  }
  return "g";
}

std::string svg_of(const Shape& s) {
  if (s.kind == Kind::kText) return text_shape(s);
  const std::string element = open_shape(s);
  const std::string head = "<" + element + common(s);
  if (s.text.empty()) return head + "/>\n";
  const std::string name = element.substr(0, element.find(' '));
  return head + "><title>" + escape_markup(s.text) + "</title></" + name + ">\n";
}

std::string view_box(const Drawing& d) {
  return fmt::format("viewBox=\"0 0 {} {}\"", coordinate(std::max(1.0, drawable(d.width))),
                     coordinate(std::max(1.0, drawable(d.height))));
}

}  // namespace

std::string svg_names(const std::string& title, const std::string& description, const std::string& fallback) {
  return fmt::format("<title>{}</title><desc>{}</desc>\n", escape_markup(title.empty() ? fallback : title),
                     escape_markup(description.empty() ? fallback : description));
}

std::string svg_shapes(const Drawing& drawing) {
  std::string out;
  for (const Shape& shape : drawing.shapes) out += svg_of(shape);
  return out;
}

std::string html_of(const Drawing& drawing) {
  // Narrow windows scroll sideways; letters do not shrink below kSmallest.
  double letters = 4 * kSmallest;
  for (const Shape& s : drawing.shapes)
    if (s.kind == Kind::kText && s.size > 0) letters = std::min(letters, s.size);
  const int narrowest = static_cast<int>(drawable(drawing.width) * std::min(1.0, kSmallest / letters));
  const int widest = static_cast<int>(std::max(1.0, std::min(drawable(drawing.width) * 1.25, 4000.0)));
  std::string out = "<figure class=\"drawing\">\n";
  if (!drawing.title.empty()) out += "<figcaption>" + escape_markup(drawing.title) + "</figcaption>\n";
  out += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n",
                     escape_markup(drawing.title.empty() ? "Drawing" : drawing.title));
  out += fmt::format("<svg role=\"img\" {} style=\"min-width:{}px;max-width:{}px\">", view_box(drawing), narrowest,
                     widest);
  out += svg_names(drawing.title, drawing.description, "Drawing") + svg_shapes(drawing) + "</svg>\n</div>\n";
  if (!drawing.note.empty()) out += "<p class=\"note\">" + escape_markup(drawing.note) + "</p>\n";
  return out + "</figure>\n";
}

std::string render_svg(const Drawing& drawing) {
  std::string out = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" {} width=\"{}\" height=\"{}\">",
                                view_box(drawing), coordinate(std::max(1.0, drawable(drawing.width))),
                                coordinate(std::max(1.0, drawable(drawing.height))));
  out += svg_names(drawing.title, drawing.description, "Drawing");
  out += "<style>\n" + palette_css("svg") + "svg{background:var(--bg)}\n</style>\n";
  return out + svg_shapes(drawing) + "</svg>\n";
}

}  // namespace busbar::report
