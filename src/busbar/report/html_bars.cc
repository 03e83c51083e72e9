// Bars as SVG in percent of the width: letters keep their size on a phone.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/report/internal/bars.h"
#include "busbar/report/internal/html_parts.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

constexpr double kNameHeight = 24, kBarHeight = 30, kGap = 16, kAxisHeight = 26, kMarkHeight = 22;
constexpr double kStep = kNameHeight + kBarHeight + kGap;
constexpr double kLetterWidth = 7.4;  // px: mean width of a 13 px letter, rounded up
constexpr double kPadding = 14;       // px: space left and right of a label
// Narrowest picture, in px, that shows a label of class a0, a1, a2; page_css has the matching windows.
constexpr double kWidths[] = {360, 570, 930};

/// 0..2: the width class from which `text` fits into `percent` of the picture; 3: none.
int breakpoint(const std::string& text, double percent) {
  const double need = static_cast<double>(display_width(text)) * kLetterWidth + kPadding;
  int b = 0;
  while (b < 3 && percent / 100 * kWidths[b] < need) ++b;
  return b;
}

std::string label(const std::string& text, double middle, double y, int tone, const std::string& classes) {
  return fmt::format("<text x=\"{}%\" y=\"{}\" dy=\".36em\" text-anchor=\"middle\" class=\"t{} {}\">{}</text>",
                     coordinate(middle), coordinate(y), tone, classes, escape_markup(text));
}

/// Name and value if both fit, otherwise the value if it fits; next to the mark, not under it.
std::string labels(const BarPart& part, const BarsLayout& layout, double left, double percent, double y) {
  const double before = layout.mark_percent() - left;
  if (before > 0 && before < percent) {
    if (before < percent / 2) left += before;
    percent = std::max(before, percent - before);
  }
  const std::string value = layout.scale().text(part.value);
  const std::string whole = part.name + " " + value;
  const int with_name = breakpoint(whole, percent), alone = breakpoint(value, percent);
  const int tone = known_colour(part.colour);
  std::string out;
  if (with_name < 3) out += label(whole, left + percent / 2, y, tone, fmt::format("a{}", with_name));
  if (alone < with_name) out += label(value, left + percent / 2, y, tone, fmt::format("a{} z{}", alone, with_name));
  return out;
}

/// Name and sum above a bar, legible where the mark crosses them.
std::string name_svg(const Bar& bar, const BarsLayout& layout, double y) {
  const std::string total = layout.scale().text(bar_total(bar));
  return fmt::format(
      "<text x=\"0\" y=\"{}\" class=\"ink over\"><tspan class=\"bold\">{}</tspan><tspan dx=\"10\">{}</tspan></text>\n",
      coordinate(y + 15), escape_markup(bar.name), escape_markup(total));
}

std::string bar_svg(const Bar& bar, const BarsLayout& layout, double y) {
  std::string out;
  double sum = 0;
  for (const BarPart& part : bar.parts) {
    const double value = drawable(part.value);
    if (value <= 0) continue;
    const double left = 100 * sum / layout.scale_max(), percent = 100 * value / layout.scale_max();
    const int tone = known_colour(part.colour);
    out += fmt::format(
        "<rect x=\"{}%\" y=\"{}\" width=\"{}%\" height=\"{}\" class=\"c{}{}\"><title>{}: {} ({:.1f} %)</title></rect>",
        coordinate(left), coordinate(y + kNameHeight), coordinate(percent), coordinate(kBarHeight), tone,
        tone == colour::kIdle ? " l4 thin" : "", escape_markup(part.name), escape_markup(layout.scale().text(value)),
        100 * value / bar_total(bar));
    out += labels(part, layout, left, percent, y + kNameHeight + kBarHeight / 2) + "\n";
    sum += value;
  }
  return out;
}

/// Grid lines behind the bars (not through their names), with labels below.
std::string axis_svg(const BarsLayout& layout, std::size_t bars, double top, double bottom) {
  const auto ticks = nice_ticks(0, layout.scale_max(), 5, layout.scale().factor());
  const auto late = [&](const Tick& t) { return 100 * t.value > 92 * layout.scale_max(); };
  std::string lines, labels;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const std::string at = coordinate(100 * ticks[i].value / layout.scale_max());
    for (std::size_t b = 0; b < bars; ++b) {
      const double y = top + kStep * static_cast<double>(b) + kNameHeight - 3;
      lines += fmt::format("<line x1=\"{0}%\" x2=\"{0}%\" y1=\"{1}\" y2=\"{2}\" class=\"grid\"/>", at, coordinate(y),
                           coordinate(y + kBarHeight + 6));
    }
    const std::string unit = i + 1 == ticks.size() ? escape_markup(layout.scale().unit()) : "";
    const char* anchor = i == 0 ? "start" : late(ticks[i]) ? "end" : "middle";
    const char* wide = i + 2 == ticks.size() && late(ticks.back()) ? " a1" : "";  // on a phone there is no room
    labels += fmt::format("<text x=\"{}%\" y=\"{}\" text-anchor=\"{}\" class=\"mut tick{}\">{}{}{}</text>", at,
                          coordinate(bottom + 17), anchor, wide, ticks[i].label, unit.empty() ? "" : " ", unit);
  }
  return lines + labels + "\n";
}

std::string mark_svg(const Bars& bars, const BarsLayout& layout, double top, double bottom) {
  const double at = layout.mark_percent();
  const std::string text = bars.mark_name + " " + layout.scale().text(bars.mark);
  std::string out;
  for (const char* kind : {"halo", "mark"}) {  // a line of page colour below it makes it visible on any bar
    out += fmt::format("<line x1=\"{0}%\" x2=\"{0}%\" y1=\"{1}\" y2=\"{2}\" class=\"{3}\"/>", coordinate(at),
                       coordinate(top), coordinate(bottom), kind);
  }
  return out + fmt::format("<text x=\"{}%\" y=\"{}\" text-anchor=\"{}\" class=\"ink\">{}</text>\n", coordinate(at),
                           coordinate(top - 6), at > 50 ? "end" : "start", escape_markup(text));
}

std::string parts_table(const Bars& bars, const BarsLayout& layout) {
  const Table table = layout.table();
  const auto kind = [&](std::size_t c) {
    return c == 0 ? "" : layout.says_more() && c + 1 == table.columns.size() ? " class=\"r also\"" : " class=\"r\"";
  };
  std::string out =
      "<div class=\"scroll parts\" tabindex=\"0\" role=\"region\" aria-label=\"values of the "
      "bars\"><table>\n<thead><tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", kind(c), escape_markup(table.columns[c].title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::string mark = r < layout.parts().size() ? swatch(layout.parts()[r].second) : "";
    out += fmt::format("<tr><th scope=\"row\">{}{}</th>", mark, escape_markup(table.rows[r][0]));
    for (std::size_t c = 1; c < table.rows[r].size(); ++c) {
      out += fmt::format("<td{}>{}</td>", kind(c), escape_markup(table.rows[r][c]));
    }
    out += "</tr>\n";
  }
  return bars.bars.empty() ? "" : out + "</tbody>\n</table></div>\n";
}

std::string legend_of(const Bars& bars, const BarsLayout& layout) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& [name, colour] : layout.parts()) {
    out += "<li>" + swatch(colour) + escape_markup(name);
    if (bars.bars.size() == 1) out += " " + escape_markup(layout.scale().text(layout.value(0, name)));
    if (const std::string also = layout.also(name); !also.empty())
      out += "<span class=\"also\">" + escape_markup(also) + "</span>";
    out += "</li>";
  }
  return out + "</ul>\n";
}

}  // namespace

std::string html_of(const Bars& bars) {
  const BarsLayout layout(bars);
  const bool marked = layout.mark_percent() >= 0;
  const double top = marked ? kMarkHeight : 0;
  const double bottom = top + kStep * static_cast<double>(bars.bars.size()) - kGap + 6;
  std::string out =
      fmt::format("<figure class=\"bars{}{}\">\n", bars.brief ? " brief" : "", bars.lights ? " lights" : "");
  if (!bars.title.empty()) out += "<figcaption>" + escape_markup(bars.title) + "</figcaption>\n";
  if (!bars.bars.empty()) {
    out += fmt::format("<svg role=\"img\" width=\"100%\" height=\"{}\">", coordinate(bottom + kAxisHeight));
    out += svg_names(bars.title, "Stacked bars; their values are below the picture.", "Bars");
    out += axis_svg(layout, bars.bars.size(), top, bottom);
    for (std::size_t b = 0; b < bars.bars.size(); ++b) {
      out += bar_svg(bars.bars[b], layout, top + kStep * static_cast<double>(b));
    }
    if (marked) out += mark_svg(bars, layout, top, bottom);
    for (std::size_t b = 0; b < bars.bars.size(); ++b)
      out += name_svg(bars.bars[b], layout, top + kStep * static_cast<double>(b));
    out += "</svg>\n";
  }
  out += bars.brief ? legend_of(bars, layout) : parts_table(bars, layout);
  if (!bars.note.empty()) out += "<p class=\"note\">" + prose_markup(bars.note) + "</p>\n";
  return out + "</figure>\n";
}

}  // namespace busbar::report
