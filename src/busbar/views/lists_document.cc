#include "busbar/views/lists_document.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/plan/planned_figures.h"
#include "busbar/views/layout_words.h"
#include "busbar/views/step_parts.h"

namespace busbar::views {
namespace {

std::string memory_text(const plan::PlannedLayout& l) {
  return format_size(static_cast<double>(count(l.memory.total())));
}

report::Highlight lists_verdict(const plan::ListsRun& r) {
  const plan::PlannedLayout& best = r.layouts.front().planned;
  const std::string capacity = format_size(static_cast<double>(count(r.capacity)));
  if (!r.layouts.front().no_fit.empty())
    return {fmt::format("No layout fits into {}: the least, {} with micro-batch {}, needs {}.", capacity,
                        short_layout(best.layout), best.layout.batch.micro, memory_text(best))};
  return {fmt::format("{} per step, {} % MFU, with {}, micro-batch {}, recompute {}: the fastest of {} that fit.",
                      format_duration(best.step.step_time.in_s()), format_number(100 * plan::mfu_of(r.machine, best)),
                      short_layout(best.layout), best.layout.batch.micro,
                      workload::name_of(best.layout.recomputation.kind), r.fitting())};
}

report::Table lists_table(const plan::ListsRun& r) {
  report::Table t =
      table_of_layouts(r.fitting() > 0 ? "Layouts, the fastest first" : "Layouts, the smallest first", "fits");
  for (const plan::ListedLayout& row : r.layouts) {
    const plan::PlannedLayout& l = row.planned;
    const bool fits = row.no_fit.empty();
    const double usd = fits ? plan::usd_of(r.machine, l) : 0;
    const double over = static_cast<double>(count(l.memory.total())) - static_cast<double>(count(r.capacity));
    t.rows.push_back({std::to_string(t.rows.size() + 1), short_layout(l.layout), std::to_string(l.layout.batch.micro),
                      workload::name_of(l.layout.recomputation.kind),
                      fits ? format_duration(l.step.step_time.in_s()) : "-",
                      fits ? fmt::format("{:.1f}", 100 * plan::mfu_of(r.machine, l)) : "-", memory_text(l),
                      usd > 0 ? format_number(usd) : "-", fits ? "yes" : format_size(over) + " too large"});
  }
  std::uint64_t refused = 0;
  for (const plan::RefusedLayouts& f : r.refused) refused += f.combinations;
  t.note = fmt::format("{} combinations: {} timed, {} do not fit into {}, {} not possible{}.", r.combinations,
                       r.fitting(), r.layouts.size() - r.fitting(), format_size(static_cast<double>(count(r.capacity))),
                       refused, r.complete ? "" : ", the others not tried");
  return t;
}

report::Table refused_table(const plan::ListsRun& r) {
  constexpr std::size_t kShown = 10;
  report::Table t{"Not possible", {"combinations", report::to_left("because")}};
  for (const plan::RefusedLayouts& f : r.refused)
    if (t.rows.size() < kShown) t.rows.push_back({std::to_string(f.combinations), f.why});
  if (r.refused.size() > kShown)
    t.note = fmt::format("And {} other reasons; --json has all.", r.refused.size() - kShown);
  return t;
}

}  // namespace

report::Document lists_document(const questions::ListsAnswer& a) {
  const plan::ListsRun& r = a.run;
  constexpr std::size_t kCommands = 10;
  report::Document d{fmt::format("{} on {}", r.machine.scenario.model.name, r.machine.cluster().name), {}, {}};
  if (!r.layouts.empty()) {
    d.add(lists_verdict(r));
    d.add(lists_table(r));
    add_batch_words(r.layouts.front().planned.layout, d);
  }
  if (!r.refused.empty()) d.add(refused_table(r));
  report::Facts commands{"Each row as a step", {}};
  for (std::size_t i = 0; i < std::min(kCommands, r.layouts.size()); ++i)
    commands.items.emplace_back(std::to_string(i + 1), a.layouts[i].command);
  d.add(std::move(commands));
  return d;
}

}  // namespace busbar::views
