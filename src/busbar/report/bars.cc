#include "busbar/report/internal/bars.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar::report {
namespace {

double longest(const Bars& bars) {
  double out = 0;
  for (const Bar& bar : bars.bars) out = std::max(out, bar_total(bar));
  return out;
}

double end_of_axis(const Bars& bars) {
  if (drawable(bars.scale_max) > 0) return bars.scale_max;
  const double most = std::max(longest(bars), drawable(bars.mark) * 1.02);
  return most > 0 ? most : 1;
}

}  // namespace

double bar_total(const Bar& bar) {
  double sum = 0;
  for (const BarPart& part : bar.parts) sum += drawable(part.value);
  return sum;
}

BarsLayout::BarsLayout(const Bars& bars)
    : bars_(bars), scale_max_(end_of_axis(bars)), scale_(std::max(longest(bars), drawable(bars.mark)), bars.unit) {
  for (const Bar& bar : bars.bars) {
    for (const BarPart& part : bar.parts) {
      const auto same = [&](const auto& known) { return known.first == part.name; };
      const bool fresh = drawable(part.value) > 0 && std::none_of(parts_.begin(), parts_.end(), same);
      if (fresh) parts_.emplace_back(part.name, part.colour);
    }
  }
}

double BarsLayout::mark_percent() const {
  const bool on_axis = bars_.mark > 0 && bars_.mark <= scale_max_;
  return on_axis ? 100 * bars_.mark / scale_max_ : -1;
}

double BarsLayout::value(std::size_t bar, const std::string& part) const {
  double sum = 0;
  for (const BarPart& p : bars_.bars[bar].parts) {
    if (p.name == part) sum += drawable(p.value);
  }
  return sum;
}

std::string BarsLayout::more(const std::string& part) const {
  if (!says_more()) return "";
  const std::vector<BarPart>& parts = bars_.bars[0].parts;
  const auto it = std::find_if(parts.begin(), parts.end(), [&](const BarPart& p) { return p.name == part; });
  return it == parts.end() ? "" : it->more;
}

std::string BarsLayout::also(const std::string& part) const {
  const std::string words = more(part);
  return words.empty() ? "" : fmt::format(", {} {}", bars_.more, words);
}

Table BarsLayout::table() const {
  Table out;
  const std::string unit = scale_.unit().empty() ? "" : " (" + scale_.unit() + ")";
  out.columns.push_back(to_left("part"));
  for (const Bar& bar : bars_.bars) {
    out.columns.push_back({bar.name + unit});
    out.columns.push_back({"share"});
  }
  if (says_more()) out.columns.push_back({bars_.more});
  const auto row = [&](const std::string& name, auto value_of) {
    auto& cells = out.rows.emplace_back(1, name);
    for (std::size_t b = 0; b < bars_.bars.size(); ++b) {
      const double total = bar_total(bars_.bars[b]);
      const double value = value_of(b);
      cells.push_back(value > 0 ? scale_.number(value) : "-");
      cells.push_back(value > 0 ? fmt::format("{:.1f} %", 100 * value / total) : "-");
    }
  };
  for (const auto& [name, index] : parts_) {
    row(name, [&, part = name](std::size_t b) { return value(b, part); });
    if (says_more()) out.rows.back().push_back(more(name).empty() ? "-" : more(name));
  }
  row("total", [&](std::size_t b) { return bar_total(bars_.bars[b]); });
  if (says_more()) out.rows.back().push_back("");
  return out;
}

}  // namespace busbar::report
