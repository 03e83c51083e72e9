#include "busbar/views/beside_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "busbar/base/quantity.h"
#include "busbar/cost/money.h"
#include "busbar/views/step_parts.h"

namespace busbar::views {
namespace {

struct Compared {
  std::string heading;
  const step::TrainRun* run = nullptr;
  bool fold = true;
};

std::string percent_of(double part, double whole) { return fmt::format("{:.1f} %", 100 * part / whole); }

/// "+2.0 %" relative to the first.
std::string against(const Compared& c, const Compared& first) {
  const double change = c.run->step.step_time.in_s() / first.run->step.step_time.in_s() - 1;
  return &c == &first ? "-" : fmt::format("{:+.{}f} %", 100 * change, std::fabs(change) < 0.1 ? 1 : 0);
}

std::string memory_words(const step::TrainRun& r) {
  return fmt::format("{} of {}{}", format_size(static_cast<double>(count(r.memory.total()))),
                     format_size(static_cast<double>(count(r.memory_capacity))),
                     r.does_not_fit ? ", does not fit" : "");
}

/// "exposed TP" of "exposed_tp"
std::string part_words(std::string key) {
  for (const StepPart& p : step_parts())
    if (key == p.key) return p.words;
  return key;
}

void add_parts(const std::vector<Compared>& all, report::Table& t) {
  const auto names = step::breakdown_rows(all.front().run->step.breakdown);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> row{part_words(names[i].first)};
    bool any = false;
    for (const Compared& c : all) {
      const Duration part = step::breakdown_rows(c.run->step.breakdown)[i].second;
      any = any || part > Duration();
      row.push_back(
          fmt::format("{} ({})", format_duration(part.in_s()), percent_of(part.in_s(), c.run->step.step_time.in_s())));
    }
    if (any) t.rows.push_back(std::move(row));
  }
}

/// The part of the step that changed most, in words: "exposed DP 4.10 s instead of 0.75 s".
std::string largest_change(const step::Breakdown& asked, const step::Breakdown& other) {
  const auto before = step::breakdown_rows(asked), after = step::breakdown_rows(other);
  std::size_t most = 0;
  const auto change = [&](std::size_t i) { return std::fabs(after[i].second.in_s() - before[i].second.in_s()); };
  for (std::size_t i = 0; i < before.size(); ++i)
    if (change(i) > change(most)) most = i;
  return fmt::format("{} {} instead of {}", part_words(before[most].first), format_duration(after[most].second.in_s()),
                     format_duration(before[most].second.in_s()));
}

}  // namespace

report::Highlight beside_verdict(const step::TrainRun& asked, const std::vector<step::BesideRun>& besides) {
  constexpr double kSame = 0.5;  // percent
  std::string text;
  for (const step::BesideRun& b : besides) {
    const double first = asked.step.step_time.in_s(), own = b.run.step.step_time.in_s(),
                 percent = 100 * (own / first - 1);
    const std::string change = b.variant.change;
    if (!text.empty()) text += " ";
    if (std::fabs(percent) < kSame) {
      text += fmt::format("{}: the same time.", change);
      continue;
    }
    text += fmt::format("{}: {:.0f} % {} ({} a step): {}.", change, std::fabs(percent),
                        percent < 0 ? "less time" : "more time", format_duration(own),
                        largest_change(asked.step.breakdown, b.run.step.breakdown));
  }
  return {text};
}

report::Table beside_table(const step::TrainRun& asked, const std::vector<step::BesideRun>& besides) {
  std::vector<Compared> all{{"as asked", &asked, true}};
  for (const step::BesideRun& b : besides) all.push_back({step::heading_of(b.variant), &b.run, b.variant.fold});
  report::Table t;
  t.changes = true;
  t.title = "Side by side";
  t.columns.push_back(report::to_left(""));
  for (const Compared& c : all) t.columns.push_back({c.heading});
  const auto row = [&](const char* name, const std::function<std::string(const Compared&)>& cell) {
    std::vector<std::string> cells{name};
    for (const Compared& c : all) cells.push_back(cell(c));
    t.rows.push_back(std::move(cells));
  };
  const auto row_if_differs = [&](const char* name, const std::function<std::string(const Compared&)>& cell) {
    const auto same = [&](const Compared& c) { return cell(c) == cell(all.front()); };
    if (!std::all_of(all.begin(), all.end(), same)) row(name, cell);
  };
  row("machine", [](const Compared& c) { return c.run->cluster().name; });
  row_if_differs("routing", [](const Compared& c) { return std::string(topology::name_of(c.run->cluster().routing)); });
  row_if_differs("alike parts", [](const Compared& c) { return std::string(c.fold ? "folded" : "each by itself"); });
  row("step", [](const Compared& c) { return format_duration(c.run->step.step_time.in_s()); });
  row("relative to the first", [&](const Compared& c) { return against(c, all.front()); });
  add_parts(all, t);
  row("MFU", [](const Compared& c) { return percent_of(c.run->metrics.mfu, 1); });
  row("tokens/s/GPU", [](const Compared& c) { return format_number(c.run->metrics.tokens_per_s_per_gpu); });
  row("of one replica", [](const Compared& c) { return percent_of(c.run->scaling_efficiency.value_or(1), 1); });
  row("memory per GPU", [](const Compared& c) { return memory_words(*c.run); });
  row("1 % costs, a day", [](const Compared& c) {
    const double usd = c.run->cost.usd_per_day_per_percent;
    return usd > 0 ? cost::format_money(usd) : "-";
  });
  row("a million tokens cost", [](const Compared& c) {
    const double usd = c.run->cost.usd_per_million_tokens;
    return usd > 0 ? cost::format_money(usd) : "-";
  });
  const auto above = [](const Compared& c) { return c.run->scaling_efficiency.value_or(1) >= 1.0005; };
  if (std::any_of(all.begin(), all.end(), above))
    t.note = "Of one replica: above 100 % where replicas share the optimizer's work (ZeRO).";
  return t;
}

}  // namespace busbar::views
