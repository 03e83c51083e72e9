// The fastest layout, the others that were timed, and what decides between those that tie.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/plan/layout_flags.h"
#include "busbar/plan/plan_run.h"
#include "busbar/questions/plan_question.h"
#include "busbar/questions/step_words.h"
#include "busbar/report/chart.h"
#include "busbar/report/style.h"
#include "busbar/views/degree_map.h"
#include "busbar/views/fit_table.h"
#include "busbar/views/layout_words.h"
#include "busbar/views/step_parts.h"
#include "busbar/views/token_prices.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::DecidedBy;
using questions::PlanAnswer;
using questions::PlannedStep;
using questions::PlanNothing;
using questions::PlanRequest;
using questions::PlanResult;
using questions::PlanSearch;

std::string memory_text(std::uint64_t bytes) { return format_size(static_cast<double>(bytes)); }

std::string planned_price(double usd) { return usd > 0 ? format_number(usd) : "-"; }

std::string fixed_words(const std::vector<std::string>& fixed) {
  return fixed.empty() ? "" : fmt::format(" Searched within: {}.", fmt::join(fixed, "; "));
}

/// With what the search changed besides the lists of its space, and what it leaves idle.
std::string words_of_planned(const PlanResult& r, const plan::PlannedLayout& l) {
  const workload::LayoutSpec& layout = l.layout;
  std::string out = short_layout(layout);
  const auto add = [&](const char* key, bool changed, const std::string& words) {
    if (changed && !layout.places.contains(key)) out += ", " + words;
  };
  const workload::ExpertRun& e = layout.experts;
  add("expert_exchange", e.exchange == workload::ExpertExchange::kPerNode, "experts per node");
  add("overlap_tp", e.overlap > 0, fmt::format("{:.0f} % of their exchange overlapped", 100 * e.overlap));
  add("fused_experts", e.fused, "fused experts");
  add("balanced_layers", layout.split.balanced, "stages cut by cost");
  add("embedding_as_layer", layout.split.embedding_as_layer, "embedding and head as layers");
  const std::string spares = domain_words(r.run.machine_of(l));
  return out + (spares.empty() ? "" : ", " + spares);
}

report::Highlight plan_verdict(const PlanResult& r) {
  const PlannedStep& best = r.best.step;
  const std::string gap = r.gap_percent > 0.005 ? fmt::format(" by more than {:.2g} %", r.gap_percent) : "";
  const std::string how =
      fmt::format("No layout of the {} in the space is faster{}{}.{}", r.search.searched, gap,
                  r.search.complete ? ", proven" : "; the search was stopped before its end", fixed_words(r.fixed));
  const std::string tied =
      r.tied == r.layouts.size() ? fmt::format("all {} timed layouts", r.tied) : fmt::format("rows 1 to {}", r.tied);
  const std::string tie =
      r.tied > 1 ? fmt::format(
                       " A tie: {} are predicted within {:.2g} %, as far as the fastest of published jobs was "
                       "from the best prediction; measure them.",
                       tied, r.tie_percent)
                 : "";
  return {fmt::format("{} per step, {} % MFU, with {}, micro-batch {}, recompute {}.{} {}",
                      format_duration(best.step_time_s), format_number(100 * best.mfu),
                      words_of_planned(r, r.run.plan.layouts.front()), best.layout.micro_batch,
                      recompute_words(r.run.plan.layouts.front().layout), tie, how)};
}

/// Why the row is not the first, and what speaks against it.
std::string words_of_row(const questions::PlanRow& row, bool tied) {
  std::vector<std::string> words;
  if (tied) words.emplace_back("tie");
  if (!row.lost_because.empty()) words.push_back(row.lost_because);
  if (row.within_memory_error) words.emplace_back("fits within the error");
  return fmt::format("{}", fmt::join(words, "; "));
}

report::Table planned_table(const PlanResult& r, std::uint32_t rows) {
  report::Table t = table_of_layouts("Layouts, the fastest first", "slower because of");
  for (std::size_t i = 0; i < std::min<std::size_t>(rows, r.layouts.size()); ++i) {
    const PlannedStep& s = r.layouts[i].step;
    const bool tied = i > 0 && i < r.tied;
    t.rows.push_back({std::to_string(i + 1), words_of_planned(r, r.run.plan.layouts[i]),
                      std::to_string(s.layout.micro_batch), recompute_words(r.run.plan.layouts[i].layout),
                      format_duration(s.step_time_s), fmt::format("{:.1f}", 100 * s.mfu), memory_text(s.memory_bytes),
                      planned_price(s.usd_per_step), words_of_row(r.layouts[i], tied)});
  }
  const PlanSearch& p = r.search;
  const predict::Band& memory = r.run.memory_band;
  t.note = fmt::format(
      "{} layouts: {} do not divide, {} do not fit into {}, {} cannot be faster by their bounds, {} timed. Least bound "
      "of those that fit: {}, {:.1f} % below the best.",
      p.searched, p.pruned.refused, p.pruned.memory, memory_text(count(r.run.capacity)), p.pruned.bound, p.timed,
      format_duration(r.lower_bound_s), 100 * (1 - r.lower_bound_s / r.best.step.step_time_s));
  if (r.gpu_hour.rented_usd) t.note += fmt::format(" $/step is rent. {}", bought_words(r.gpu_hour));
  if (std::any_of(r.layouts.begin(), r.layouts.end(), [](const auto& l) { return l.within_memory_error; }))
    t.note += fmt::format(" Fits within the error: with the error of memory ({:.0f} to +{:.0f} %) it may not fit.",
                          memory.low_percent, memory.high_percent);
  return t;
}

/// What less memory costs in time.
report::Table front_table(const PlanResult& r) {
  report::Table t{
      "Less memory, more time",
      {report::to_left("layout"), "batch", report::to_left("recompute"), "step", "slower (%)", "memory", "$/step"}};
  const double best_s = r.pareto.front().step.step_time_s;
  for (std::size_t i = 0; i < r.pareto.size(); ++i) {
    const PlannedStep& s = r.pareto[i].step;
    t.rows.push_back({words_of_planned(r, r.run.front[i]), std::to_string(s.layout.micro_batch),
                      recompute_words(r.run.front[i].layout), format_duration(s.step_time_s),
                      fmt::format("{:.1f}", 100 * (s.step_time_s / best_s - 1)), memory_text(s.memory_bytes),
                      planned_price(s.usd_per_step)});
  }
  const std::string scope =
      r.pareto_proven ? fmt::format("For every layout of the space a row is as fast with at most {:g} % more memory.",
                                    100 * (plan::kFrontSlack - 1))
                      : "Of the layouts that were timed; --pareto searches for faster ones with less memory.";
  t.note = scope + " All layouts pay for all GPUs, so the cheapest step is the fastest.";
  return t;
}

/// Per measurement: the rows that it separates from the first, and how. A command stands where it is named first.
report::Facts tie_facts(const PlanResult& r, std::uint32_t rows) {
  report::Facts out{"What decides the tie", {}};
  for (std::size_t i = 1; i < r.tied && i < r.layouts.size() && i + 1 <= rows; ++i) {
    if (!r.layouts[i].decided_by) continue;
    const DecidedBy& m = *r.layouts[i].decided_by;
    std::string command = m.command;
    for (std::size_t k = 1; k < i && command == m.command; ++k)
      if (r.layouts[k].decided_by && r.layouts[k].decided_by->command == m.command)
        command = fmt::format("The command of 1 or {}.", k + 1);
    out.items.emplace_back(fmt::format("1 or {}", i + 1),
                           fmt::format("{}: {} of the step or {}, known within {:.0f} %. {}", m.term,
                                       format_duration(m.best_s), format_duration(m.this_s), m.band_percent, command));
  }
  return out;
}

constexpr double kGiB = 1024.0 * 1024 * 1024;

report::ChartPoint layout_point(const questions::PlannedStep& s, const std::string& name) {
  return {static_cast<double>(s.memory_bytes) / kGiB, s.step_time_s,
          fmt::format("{}: {}, {}", name, format_duration(s.step_time_s), memory_text(s.memory_bytes))};
}

/// Each layout as a dot, and the front of those that are fastest for their memory.
report::Drawing draw_layouts(const PlanResult& r) {
  report::Chart c;
  c.title = "Time and memory of the layouts";
  c.x = {"memory of a GPU (GiB)", report::AxisUnit::kNumber};
  c.y = {"step", report::AxisUnit::kSeconds};
  report::ChartSeries timed{"timed", report::colour::kCompute, {}, false, true},
      front{"fastest with at most this memory", report::colour::kDp, {}, true, true},
      best{"best", report::colour::kTp, {}, false, true};
  for (std::size_t i = 0; i < r.layouts.size(); ++i)
    timed.points.push_back(layout_point(r.layouts[i].step, words_of_planned(r, r.run.plan.layouts[i])));
  for (std::size_t i = 0; i < r.pareto.size(); ++i)
    front.points.push_back(layout_point(r.pareto[i].step, words_of_planned(r, r.run.front[i])));
  best.points.push_back(layout_point(r.best.step, "best"));
  c.y.low = c.y.high = best.points[0].y;
  for (const auto* points : {&timed.points, &front.points})
    for (const report::ChartPoint& p : *points) c.y.low = std::min(c.y.low, p.y), c.y.high = std::max(c.y.high, p.y);
  const double room = std::max(0.1 * (c.y.high - c.y.low), 0.02 * c.y.high);
  c.y.low -= room;
  c.y.high += room;
  const double capacity = count(r.run.capacity) / kGiB;
  report::ChartSeries full{"memory of a GPU", report::colour::kMuted, {}, true, false, true};
  full.points = {{capacity, c.y.low}, {capacity, c.y.high}};
  c.description = fmt::format("The best takes {} with {}. The tables have the values.",
                              format_duration(r.best.step.step_time_s), memory_text(r.best.step.memory_bytes));
  c.series = {std::move(full), std::move(timed), std::move(front), std::move(best)};
  return report::draw_chart(c);
}

report::Document document_without_layout(const PlanNothing& r) {
  report::Document d{fmt::format("{} on {}", r.search.model, r.search.cluster), {}, {}};
  d.add(report::Highlight{r.verdict, questions::step_figures(r.least.step.step_time_s, r.least.step.mfu)});
  d.add(fit_table(r.run.would_fit));
  d.add(
      report::Paragraph{fmt::format("None of {} layouts fits: {} do not divide, {} are too large. This one needs least "
                                    "memory: {}.",
                                    r.search.searched, r.search.pruned.refused, r.search.pruned.memory,
                                    plan::layout_flags(r.run.plan.least->layout))});
  return d;
}

report::Facts program_facts(const PlanResult& r) {
  report::Facts out{"The fastest that other programs run", {}};
  for (const questions::ProgramLine& l : r.programs) {
    std::string text = l.remark;
    if (l.row)
      text = fmt::format("row {}, {}: {}{}", *l.row, format_duration(*l.step_time_s), l.flags,
                         l.remark.empty() ? "" : fmt::format("   ({})", l.remark));
    out.items.emplace_back(l.program, std::move(text));
  }
  return out;
}

report::Document document_of_layouts(const PlanRequest& asked, const PlanResult& r) {
  report::Document d{fmt::format("{} on {}", r.search.model, r.search.cluster), {}, {}};
  d.add(plan_verdict(r));
  d.add(draw_layouts(r), report::Audience::kPage);
  d.add(draw_degrees(r.run), report::Audience::kPage);
  d.add(planned_table(r, asked.rows));
  add_batch_words(r.run.plan.layouts.front().layout, d);
  if (r.pareto.size() > 1) d.add(front_table(r));
  if (report::Facts ties = tie_facts(r, asked.rows); !ties.items.empty()) d.add(std::move(ties));
  report::Facts commands{"Each row as a step", {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(asked.rows, r.layouts.size()); ++i)
    commands.items.emplace_back(std::to_string(i + 1), r.layouts[i].command);
  d.add(std::move(commands));
  d.blocks.push_back({program_facts(r)});
  return d;
}

report::Document plan_document(const PlanRequest& asked, const PlanAnswer& r) {
  const auto* const found = std::get_if<PlanResult>(&r);
  return found != nullptr ? document_of_layouts(asked, *found) : document_without_layout(std::get<PlanNothing>(r));
}

}  // namespace

View plan_view() { return make_view("plan", plan_document); }

}  // namespace busbar::views
