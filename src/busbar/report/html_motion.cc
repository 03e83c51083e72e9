// A Motion as a still picture with mean loads, and the data with which the script plays it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/json.h"
#include "busbar/report/internal/html_parts.h"
#include "busbar/report/internal/scale.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

constexpr double kMotionUnits = 1e6;  // of the script's times in the longest pane
constexpr double kMotionLetter = 12, kFillHeight = 6;

double longest_of(const Motion& m) {
  double out = 0;
  for (const MotionPane& p : m.panes) out = std::max(out, p.end_s);
  return out;
}

/// Mean loads of the first pane, per direction.
std::vector<double> mean_loads(const Motion& m) {
  std::vector<double> out(2 * m.lines.size(), 0.0);
  if (m.panes.empty()) return out;
  const MotionPane& pane = m.panes[0];
  for (const MotionTrip& trip : pane.trips)
    for (const auto& [line, share] : pane.paths[trip.path].lines) out[line] += trip.amount * share;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double rate = i % 2 == 0 ? m.lines[i / 2].rate : m.lines[i / 2].rate_back;
    out[i] = rate > 0 && pane.end_s > 0 ? out[i] / rate / pane.end_s : 0;
  }
  return out;
}

std::string lines_svg(const Motion& m) {
  const std::vector<double> load = mean_loads(m);
  std::string out;
  for (std::size_t i = 0; i < m.lines.size(); ++i) {
    const MotionLine& l = m.lines[i];
    out += fmt::format(
        "<line data-line=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"n h{}\"><title>{}</title></line>\n", i,
        coordinate(l.x), coordinate(l.y), coordinate(l.to_x), coordinate(l.to_y),
        heat_step(std::max(load[2 * i], load[2 * i + 1])), escape_markup(l.tip));
  }
  return out;
}

std::string rect_svg(double x, double y, double w, double h, const std::string& rest) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}", coordinate(x), coordinate(y),
                     coordinate(w), coordinate(h), rest);
}

std::string box_svg(const MotionBox& b, std::size_t number) {
  const int colour = known_colour(b.colour);
  std::string out = rect_svg(b.x, b.y, b.w, b.h, fmt::format("rx=\"3\" class=\"c{0} l{0}\"", colour)) + "><title>" +
                    escape_markup(b.tip.empty() ? b.label : b.tip) + "</title></rect>\n";
  const double middle = b.y + (b.h - (b.fills ? kFillHeight : 0)) / 2;
  if (!b.label.empty())
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" dy=\".36em\" font-size=\"{}\" text-anchor=\"middle\" class=\"ink\">{}</text>\n",
        coordinate(b.x + b.w / 2), coordinate(middle), kMotionLetter, escape_markup(b.label));
  if (b.fills)
    out += rect_svg(b.x + 1, b.y + b.h - kFillHeight - 1, b.w - 2, kFillHeight, "class=\"room\"/>\n") +
           rect_svg(b.x + 1, b.y + b.h - kFillHeight - 1, b.w - 2, kFillHeight,
                    fmt::format("class=\"filled\" data-box=\"{}\"/>\n", number));
  return out;
}

std::string motion_svg(const Motion& m) {
  std::string out = fmt::format("<svg role=\"img\" viewBox=\"0 0 {0} {1}\" style=\"min-width:{0}px;max-width:{2}px\">",
                                coordinate(m.width), coordinate(m.height), static_cast<int>(m.width * 1.6));
  out += svg_names(m.title, m.description, "Machine");
  out += svg_shapes(Drawing{{}, {}, m.width, m.height, m.frames, {}});
  out += "<g class=\"ways\">\n" + lines_svg(m) + "</g>\n";
  for (std::size_t i = 0; i < m.boxes.size(); ++i) out += box_svg(m.boxes[i], i);
  return out + "</svg>\n";
}

class MotionData {
 public:
  explicit MotionData(const Motion& m) : m_(m), unit_s_(std::max(1e-15, longest_of(m) / kMotionUnits)) {}
  Json write() const {
    Json panes = Json::array(), rates = Json::array();
    for (const MotionLine& l : m_.lines)
      for (const double rate : {l.rate, l.rate_back}) rates.push_back(std::round(rate * unit_s_ * 1e3) / 1e3);
    for (const MotionPane& p : m_.panes) panes.push_back(pane(p));
    return {{"unit", unit_s_}, {"rates", std::move(rates)}, {"panes", std::move(panes)}};
  }

 private:
  std::int64_t units(double s) const { return std::llround(s / unit_s_); }

  static Json path(const MotionPath& p) {
    Json points = Json::array(), lines = Json::array();
    for (const Point& at : p.points)
      for (const double v : {at.x, at.y}) points.push_back(std::round(v * 10) / 10);
    for (const auto& [line, share] : p.lines) {
      lines.push_back(line);
      lines.push_back(std::round(share * 1e4) / 1e4);
    }
    Json out{{"p", std::move(points)}, {"l", std::move(lines)}};
    if (p.to != 0xffff'ffffu) out["to"] = p.to;
    return out;
  }
  /// Start after the one before, length, delay, amount, path, colour, label.
  Json trips(const MotionPane& pane) const {
    Json out = Json::array();
    std::int64_t before = 0;
    for (const MotionTrip& t : pane.trips) {
      const std::int64_t start = units(t.start_s), sent = std::max(start, units(t.sent_s));
      for (const std::int64_t v :
           {start - before, sent - start, std::max(sent, units(t.done_s)) - sent, std::int64_t{std::llround(t.amount)},
            std::int64_t{t.path}, std::int64_t{t.colour}, t.label})
        out.push_back(v);
      before = start;
    }
    return out;
  }
  Json pane(const MotionPane& p) const {
    Json paths = Json::array(), formula = Json::array(), terms = Json::array(), parts = Json::array();
    for (const MotionPath& x : p.paths) paths.push_back(path(x));
    for (const MotionPiece& x : p.formula) formula.push_back(Json{{"t", x.text}, {"k", x.term}});
    for (const std::string& x : p.terms) terms.push_back(x);
    for (const MotionPane::Part& x : p.parts)
      for (const std::int64_t v : {std::int64_t{x.term}, units(x.begin_s), units(x.end_s)}) parts.push_back(v);
    return {{"name", p.name},
            {"end", units(p.end_s)},
            {"time", p.end},
            {"paths", std::move(paths)},
            {"trips", trips(p)},
            {"formula", std::move(formula)},
            {"terms", std::move(terms)},
            {"parts", std::move(parts)},
            {"note", p.note}};
  }

  const Motion& m_;
  double unit_s_;
};

}  // namespace

std::string html_of(const Motion& m) {
  std::string out = "<figure class=\"motion\">\n<figcaption>" + escape_markup(m.title) + "</figcaption>\n";
  out += fmt::format(
      "<div class=\"stage\" style=\"--w:{}px\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"Machine\">{}</div></div>\n<ul class=\"legend\">",
      coordinate(m.width), motion_svg(m));
  for (const auto& [name, index] : m.legend) out += "<li>" + swatch(index) + escape_markup(name) + "</li>";
  out += "<li>load of a link: idle <span class=\"heat\" aria-hidden=\"true\">";
  for (int i = 0; i < kHeatSteps; i += 3) out += fmt::format("<i class=\"b{}\"></i>", i);
  out += "</span> full</li></ul>\n";
  out += "<script type=\"application/json\">" + script_data(MotionData(m).write()) + "</script>\n";
  if (!m.note.empty()) out += "<p class=\"note\">" + prose_markup(m.note) + "</p>\n";
  return out + "</figure>\n";
}

}  // namespace busbar::report
