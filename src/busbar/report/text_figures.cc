// Bars and timelines made of characters.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/report/internal/bars.h"
#include "busbar/report/internal/scale.h"
#include "busbar/report/internal/text_parts.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

/// Cells of one row as palette indices; -1 is blank.
using Cells = std::vector<int>;

std::string draw(const Cells& cells, const TextStyle& style) {
  std::string out;
  for (std::size_t i = 0; i < cells.size();) {
    std::size_t j = i;
    while (j < cells.size() && cells[j] == cells[i]) ++j;
    out += cells[i] < 0 ? std::string(j - i, ' ') : style.paint(cells[i], repeat(style.glyph(cells[i]), j - i));
    i = j;
  }
  return out;
}

/// Rounds the ends of the parts, not their lengths, so that the bar's length is right.
Cells cells_of(const Bar& bar, double scale_max, std::size_t width) {
  Cells cells(width, -1);
  double sum = 0;
  std::size_t from = 0;
  for (const BarPart& part : bar.parts) {
    sum += drawable(part.value);
    const double end = std::round(std::min(1.0, sum / scale_max) * static_cast<double>(width));
    const auto to = static_cast<std::size_t>(end);
    std::fill(cells.begin() + static_cast<std::ptrdiff_t>(from), cells.begin() + static_cast<std::ptrdiff_t>(to),
              known_colour(part.colour));
    from = to;
  }
  return cells;
}

/// A line of labels, each centred on its cell if there is room.
std::string tick_line(const std::vector<Tick>& ticks, double low, double high, std::size_t width,
                      const std::string& unit) {
  std::string out;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double at = (ticks[i].value - low) / (high - low) * static_cast<double>(width);
    const std::string label = i + 1 < ticks.size() || unit.empty() ? ticks[i].label : ticks[i].label + " " + unit;
    const auto half = static_cast<double>(ticks[i].label.size()) / 2;
    const double latest = static_cast<double>(width) - static_cast<double>(label.size()) + 1;
    const auto start = static_cast<std::size_t>(std::max(0.0, std::min(latest, std::round(at - half))));
    if (!out.empty() && start < out.size() + 1) continue;
    out += std::string(start - out.size(), ' ') + label;
  }
  return out;
}

std::string legend_line(const std::vector<std::pair<std::string, int>>& legend, const TextStyle& style,
                        std::size_t indent) {
  std::string out, line(indent, ' ');
  std::size_t used = indent;
  for (const auto& [name, index] : legend) {
    const std::string text = style.clean(name);
    const std::size_t need = display_width(text) + 5;
    if (used > indent && used + need - 3 > style.width()) {
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
      line = std::string(indent, ' ');
      used = indent;
    }
    line += style.paint(index, style.glyph(index)) + " " + text + "   ";
    used += need;
  }
  out += line;
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string title_of(const std::string& title, const TextStyle& style) {
  std::string out;
  for (const std::string& line : wrap_words(style.clean(title), style.width())) {
    if (!title.empty()) out += style.bold(line) + "\n";
  }
  return out;
}

}  // namespace

std::string text_of(const Bars& bars, const TextStyle& style) {
  std::string out = title_of(bars.title, style);
  if (bars.bars.empty()) return out;
  const BarsLayout layout(bars);
  std::size_t name_width = 0, value_width = 0;
  for (const Bar& bar : bars.bars) {
    name_width = std::max(name_width, display_width(style.clean(bar.name)));
    value_width = std::max(value_width, display_width(layout.scale().text(bar_total(bar))));
  }
  name_width = std::min(name_width, style.width() / 3);
  const std::size_t width = style.width() - name_width - value_width - 6;
  for (const Bar& bar : bars.bars) {
    const auto names = wrap_words(style.clean(bar.name), name_width);
    for (std::size_t i = 0; i + 1 < names.size(); ++i) out += "  " + names[i] + "\n";
    std::string cells = draw(cells_of(bar, layout.scale_max(), width), style);
    out += fmt::format("  {}  {}  {}\n", pad_right(names.back(), name_width), cells,
                       pad_left(layout.scale().text(bar_total(bar)), value_width));
  }
  const std::string indent(name_width + 4, ' ');
  const auto ticks = nice_ticks(0, layout.scale_max(), static_cast<int>(std::max<std::size_t>(2, width / 14)),
                                layout.scale().factor());
  out += style.muted(indent + tick_line(ticks, 0, layout.scale_max(), width, layout.scale().unit())) + "\n";
  if (layout.mark_percent() >= 0) {
    const auto at = static_cast<std::size_t>(layout.mark_percent() / 100 * static_cast<double>(width - 1));
    const std::string label = fmt::format("{} {}", style.clean(bars.mark_name), layout.scale().text(bars.mark));
    const std::size_t room = display_width(label) + 1;
    if (at >= room) {
      out += indent + pad_left(label + " ", at) + "^\n";
    } else {
      const bool beside = at + 1 + room <= style.width() - indent.size();
      out += indent + std::string(at, ' ') + (beside ? "^ " + label + "\n" : "^\n" + style.wrapped(label, 2));
    }
  }
  std::vector<std::pair<std::string, int>> legend;
  const bool one = bars.bars.size() == 1;
  for (const auto& [name, index] : layout.parts()) {
    const double value = one ? layout.value(0, name) : 0;
    const double total = one ? bar_total(bars.bars[0]) : 0;
    const std::string share = total > 0 ? fmt::format(" ({:.1f} %)", 100 * value / total) : "";
    legend.emplace_back(
        one ? fmt::format("{} {}{}{}", name, layout.scale().text(value), share, layout.also(name)) : name, index);
  }
  out += legend_line(legend, style, 2);
  if (!bars.note.empty()) out += style.wrapped(bars.note, 2);
  return one ? out : out + "\n" + text_of(layout.table(), style);
}

namespace {

/// Every cell shows the colour that takes most of it.
Cells cells_of(const TimelineRow& row, double start, double end, std::size_t width) {
  std::vector<std::map<int, double>> filled(width);
  const double cell = (end - start) / static_cast<double>(width);
  for (const TimelineSpan& span : row.spans) {
    const double from = (span.start_s - start) / cell, to = (span.start_s + drawable(span.duration_s) - start) / cell;
    if (!(to > from) || !std::isfinite(from) || !std::isfinite(to)) continue;
    const auto last = static_cast<std::size_t>(std::clamp(std::ceil(to), 0.0, static_cast<double>(width)));
    for (auto c = static_cast<std::size_t>(std::clamp(std::floor(from), 0.0, static_cast<double>(width))); c < last;
         ++c) {
      const auto x = static_cast<double>(c);
      filled[c][known_colour(span.colour)] += std::max(0.0, std::min(to, x + 1) - std::max(from, x));
    }
  }
  Cells out(width, -1);
  for (std::size_t c = 0; c < width; ++c) {
    double most = 0.1;  // a cell is blank unless a tenth of it is used
    for (const auto& [index, share] : filled[c]) {
      if (share > most + 1e-9) {
        out[c] = index;
        most = share;
      }
    }
  }
  return out;
}

}  // namespace

std::string text_of(const TimelineView& view, const TextStyle& style) {
  std::string out = title_of(view.title, style);
  if (view.end_s > view.start_s && !view.rows.empty()) {
    std::size_t names = 0;
    for (const TimelineRow& row : view.rows) {
      names = std::max({names, display_width(style.clean(row.name)) + 2, display_width(style.clean(row.group))});
    }
    names = std::min(names, std::max<std::size_t>(20, style.width() / 3));
    const std::size_t width = style.width() - names - 5;
    const std::string* group = nullptr;
    for (const TimelineRow& row : view.rows) {
      if (!row.group.empty() && (group == nullptr || *group != row.group)) {
        out += "  " + wrap_words(style.clean(row.group), style.width() - 2).front() + "\n";
      }
      group = &row.group;
      const std::string name = wrap_words(style.clean(row.name), names - 2).front();
      out += fmt::format("    {} {}{}{}\n", pad_right(name, names - 2), style.bar_edge(),
                         draw(cells_of(row, view.start_s, view.end_s, width), style), style.bar_edge());
    }
    const UnitScale scale(std::max(std::fabs(view.start_s), std::fabs(view.end_s)), "s");
    const auto ticks =
        nice_ticks(view.start_s, view.end_s, static_cast<int>(std::max<std::size_t>(2, width / 14)), scale.factor());
    out += style.muted(std::string(names + 4, ' ') + tick_line(ticks, view.start_s, view.end_s, width, scale.unit())) +
           "\n";
    if (!view.legend.empty()) out += legend_line(view.legend, style, 2);
  }
  return view.note.empty() ? out : out + style.wrapped(view.note, 2);
}

}  // namespace busbar::report
