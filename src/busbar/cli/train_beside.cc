#include "busbar/cli/train_beside.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/train_report.h"

namespace busbar {
namespace {

struct Compared {
  std::string heading;
  const TrainRun* run = nullptr;
  bool fold = true;
};

std::string percent_of(double part, double whole) { return fmt::format("{:.1f} %", 100 * part / whole); }

/// "+2.0 %" relative to the first.
std::string against(const Compared& c, const Compared& first) {
  const double change = c.run->step.step_time.in_s() / first.run->step.step_time.in_s() - 1;
  return &c == &first ? "-" : fmt::format("{:+.2f} %", 100 * change);
}

std::string memory_words(const TrainRun& r) {
  return fmt::format("{} of {}{}", format_size(static_cast<double>(count(r.memory.total()))),
                     format_size(static_cast<double>(count(r.memory_capacity))),
                     r.does_not_fit ? ", does not fit" : "");
}

void add_parts(const std::vector<Compared>& all, Table& t) {
  const auto names = breakdown_rows(all.front().run->step.breakdown);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> row{names[i].first};
    if (const std::size_t at = row[0].find('_'); at != std::string::npos) {  // "exposed TP"
      std::transform(row[0].begin() + static_cast<std::ptrdiff_t>(at), row[0].end(),
                     row[0].begin() + static_cast<std::ptrdiff_t>(at),
                     [](unsigned char ch) { return ch == '_' ? ' ' : static_cast<char>(std::toupper(ch)); });
    }
    bool any = false;
    for (const Compared& c : all) {
      const Duration part = breakdown_rows(c.run->step.breakdown)[i].second;
      any = any || part > Duration();
      row.push_back(
          fmt::format("{} ({})", format_duration(part.in_s()), percent_of(part.in_s(), c.run->step.step_time.in_s())));
    }
    if (any) t.rows.push_back(std::move(row));
  }
}

}  // namespace

Result<BesideRun> run_beside(TrainVariant variant, TrainAsk ask) {
  ask.timeline = ask.relief = false;
  ask.fold = variant.fold;
  Result<TrainRun> run = run_train(variant.scenario, ask);
  if (!run.ok()) return with_change(run.error(), variant.change);
  return BesideRun{std::move(variant), std::move(*run)};
}

Table beside_table(const TrainRun& asked, const std::vector<BesideRun>& besides) {
  std::vector<Compared> all{{"as asked", &asked, true}};
  for (const BesideRun& b : besides) all.push_back({heading_of(b.variant), &b.run, b.variant.fold});
  Table t;
  t.title = "Side by side";
  t.columns.push_back({"", Align::kLeft});
  for (const Compared& c : all) t.columns.push_back({c.heading});
  const auto row = [&](const char* name, const std::function<std::string(const Compared&)>& cell) {
    std::vector<std::string> cells{name};
    for (const Compared& c : all) cells.push_back(cell(c));
    t.rows.push_back(std::move(cells));
  };
  row("machine", [](const Compared& c) { return c.run->cluster().name; });
  row("routing", [](const Compared& c) { return std::string(name_of(c.run->cluster().routing)); });
  row("alike parts", [](const Compared& c) { return std::string(c.fold ? "folded" : "each by itself"); });
  row("step", [](const Compared& c) { return format_duration(c.run->step.step_time.in_s()); });
  row("relative to the first", [&](const Compared& c) { return against(c, all.front()); });
  add_parts(all, t);
  row("MFU", [](const Compared& c) { return percent_of(c.run->metrics.mfu, 1); });
  row("tokens/s/GPU", [](const Compared& c) { return format_number(c.run->metrics.tokens_per_s_per_gpu); });
  row("of one replica", [](const Compared& c) { return percent_of(c.run->scaling_efficiency, 1); });
  row("memory per GPU", [](const Compared& c) { return memory_words(*c.run); });
  row("1 % costs ($/day)", [](const Compared& c) {
    const double usd = c.run->cost.usd_per_day_per_percent;
    return usd > 0 ? format_number(usd) : "-";
  });
  return t;
}

Json beside_json(const std::vector<BesideRun>& besides, const CommonOptions& common) {
  auto out = Json::array();
  for (const BesideRun& b : besides) {
    Json j{{"change", b.variant.change}, {"folded", b.variant.fold}};
    Json keys = train_json(b.run, common);
    keys.erase("schema");
    j.update(std::move(keys));
    out.push_back(std::move(j));
  }
  return out;
}

}  // namespace busbar
