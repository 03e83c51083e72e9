#include "busbar/cli/plan_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/questions/framework_flags.h"
#include "busbar/cli/session.h"
#include "busbar/plan/layout_flags.h"
#include "busbar/plan/planned_figures.h"
#include "busbar/questions/planned_result.h"
#include "busbar/questions/step_words.h"
#include "busbar/views/fit_table.h"
#include "busbar/views/layout_words.h"
#include "busbar/views/step_parts.h"

namespace busbar {
namespace {

double usd_of(const PlanRun& r, const PlannedLayout& l) { return usd_of(r.machine, l); }
double mfu_of(const PlanRun& r, const PlannedLayout& l) { return mfu_of(r.machine, l); }

/// How far the best may be from the fastest, in percent: 0 if it is the fastest.
double gap_percent(const Plan& p) {
  const double best = p.layouts.front().step.step_time.in_s();
  return 100 * (best - p.proven.in_s()) / p.proven.in_s();
}

Highlight verdict(const PlanRun& r) {
  const PlannedLayout& best = r.plan.layouts.front();
  const std::string how = r.plan.complete
                              ? fmt::format("No layout of the {} in the space is faster.", r.plan.searched)
                              : fmt::format("No layout of the {} in the space is more than {:.1f} % faster.",
                                            r.plan.searched, gap_percent(r.plan));
  const std::size_t n = r.tied.size();
  const std::string tied =
      n + 1 == r.plan.layouts.size() ? fmt::format("all {} timed layouts", n + 1) : fmt::format("rows 1 to {}", n + 1);
  const std::string tie =
      n > 0 ? fmt::format(" A tie: {} are closer than the band of their difference, {:.0f} %; measure them.", tied,
                          r.tie_percent())
            : "";
  return {fmt::format("{} per step, {} % MFU, with {}, micro-batch {}, recompute {}.{} {}",
                      format_duration(best.step.step_time.in_s()), format_number(100 * mfu_of(r, best)),
                      short_layout(best.layout), best.layout.micro_batch, name_of(best.layout.recompute), tie, how)};
}

Highlight no_fit_verdict(const PlanRun& r) {
  const PlannedLayout& least = *r.plan.least;
  const Error why = check_fits(least.memory, r.capacity).error();
  return {does_not_fit_words(least.step.step_time, mfu_of(r, least), why)};
}

Table layout_table(const PlanRun& r, std::uint32_t rows) {
  Table t = table_of_layouts("Layouts, the fastest first", "slower because of");
  const PlannedLayout& best = r.plan.layouts.front();
  for (const PlannedLayout& l : r.plan.layouts) {
    if (t.rows.size() == rows) break;
    const double usd = usd_of(r, l);
    t.rows.push_back({std::to_string(t.rows.size() + 1), short_layout(l.layout), std::to_string(l.layout.micro_batch),
                      name_of(l.layout.recompute), format_duration(l.step.step_time.in_s()),
                      fmt::format("{:.1f}", 100 * mfu_of(r, l)),
                      format_size(static_cast<double>(count(l.memory.total()))), usd > 0 ? format_number(usd) : "-",
                      &l == &best ? "" : (t.rows.size() <= r.tied.size() ? "tie; " : "") + why_lost(l, best)});
  }
  const double bound = r.plan.lower_bound.in_s();
  t.note = fmt::format(
      "{} layouts: {} do not divide, {} do not fit into {}, {} cannot be faster by their bounds, {} timed. Least bound "
      "of those that fit: {}, {:.1f} % below the best.",
      r.plan.searched, r.plan.refused, r.plan.no_fit, format_size(static_cast<double>(count(r.capacity))),
      r.plan.bounded, r.plan.layouts.size(), format_duration(bound), 100 * (1 - bound / best.step.step_time.in_s()));
  return t;
}

/// What less memory costs in time.
Table front_table(const PlanRun& r) {
  Table t{"Less memory, more time",
          {to_left("layout"), "batch", to_left("recompute"), "step", "slower (%)", "memory", "$/step"}};
  const double best_s = r.front.front().step.step_time.in_s();
  for (const PlannedLayout& l : r.front) {
    const double usd = usd_of(r, l), step_s = l.step.step_time.in_s();
    t.rows.push_back({short_layout(l.layout), std::to_string(l.layout.micro_batch), name_of(l.layout.recompute),
                      format_duration(step_s), fmt::format("{:.1f}", 100 * (step_s / best_s - 1)),
                      format_size(static_cast<double>(count(l.memory.total()))), usd > 0 ? format_number(usd) : "-"});
  }
  const std::string scope =
      r.front_proven ? fmt::format("For every layout of the space a row is as fast with at most {:g} % more memory.",
                                   100 * (kFrontSlack - 1))
                     : "Of the layouts that were timed; --pareto searches for faster ones with less memory.";
  t.note = scope + " All layouts use all GPUs, so the cheapest step is the fastest.";
  return t;
}

Json row_json(const PlanRun& r, const StepRequest& request, const PlannedLayout& l) {
  Json j = planned_json(r.machine, l);
  j["lower_bound_s"] = l.bound.in_s();
  j["tie"] = !r.tied.empty() && l.step.step_time.in_s() < r.tie_s();
  j["lost_because"] = &l == &r.plan.layouts.front() ? "" : why_lost(l, r.plan.layouts.front());
  j["command"] = request_line(request, l.layout);
  return j;
}

Json decided_json(const TieMeasurement& m) {
  return {{"term", m.term},
          {"best_s", m.best_s},
          {"this_s", m.other_s},
          {"band_percent", m.band_percent},
          {"command", m.command}};
}

/// Per measurement: the rows that it separates from the first, and how. A command stands where it is named first.
Facts tie_facts(const PlanRun& r, std::uint32_t rows) {
  Facts out{"What decides the tie", {}};
  for (std::size_t i = 0; i < r.tied.size() && i + 2 <= rows; ++i) {
    if (!r.tied[i]) continue;
    const TieMeasurement& m = *r.tied[i];
    std::string command = m.command;
    for (std::size_t k = 0; k < i && command == m.command; ++k)
      if (r.tied[k] && r.tied[k]->command == m.command) command = fmt::format("The command of 1 or {}.", k + 2);
    out.items.emplace_back(fmt::format("1 or {}", i + 2),
                           fmt::format("{}: {} of the step or {}, known within {:.0f} %. {}", m.term,
                                       format_duration(m.best_s), format_duration(m.other_s), m.band_percent, command));
  }
  return out;
}

}  // namespace

Json planned_json(const TrainRun& machine, const PlannedLayout& l) {
  return to_json(questions::planned_result(machine, l));
}

namespace {

/// What a search says that found a layout, and one that did not.
Json search_json(const PlanRun& r, const StepRequest& request, const CommonOptions& common) {
  const Plan& p = r.plan;
  const PlannedLayout& any = p.layouts.empty() ? *p.least : p.layouts.front();
  return {
      {"schema", "busbar.plan/1"},
      {"cluster", r.machine.cluster().name},
      {"gpus", any.layout.ranks()},
      {"model", r.machine.scenario.model.name},
      {"engine", request.engine},
      {"inputs_hash", inputs_hash(common, r.machine.kernels.text + r.machine.scenario.text + r.machine.cluster().text)},
      {"fits", !p.layouts.empty()},
      {"complete", p.complete},
      {"searched", p.searched},
      {"pruned", {{"refused", p.refused}, {"memory", p.no_fit}, {"bound", p.bounded}}},
      {"timed", p.layouts.size()}};
}

Json no_fit_json(const PlanRun& r, const StepRequest& request, const CommonOptions& common) {
  Json j = search_json(r, request, common);
  for (const char* key : {"best", "lower_bound_s", "proven_s", "gap_percent"}) j[key] = nullptr;
  for (const char* key : {"layouts", "pareto"}) j[key] = Json::array();
  j["flags"] = Json::object();
  j["least"] = planned_json(r.machine, *r.plan.least);
  j["least"]["capacity_bytes"] = count(r.capacity);
  const std::vector<questions::FitResult> would_fit = questions::fit_results(r.would_fit);
  j["would_fit"] = to_json(type_of<std::vector<questions::FitResult>>(), &would_fit);
  j["verdict"] = no_fit_verdict(r).text;
  return j;
}

Document no_fit_document(const PlanRun& r, const std::string& typed) {
  Document d{fmt::format("{} on {}", r.machine.scenario.model.name, r.machine.cluster().name), typed, {}};
  d.add(no_fit_verdict(r));
  d.add(fit_table(r.would_fit));
  d.add(
      Paragraph{fmt::format("None of {} layouts fits: {} do not divide, {} are too large. This one needs least "
                            "memory: {}.",
                            r.plan.searched, r.plan.refused, r.plan.no_fit, layout_flags(r.plan.least->layout))});
  return d;
}

}  // namespace

Json plan_json(const PlanRun& r, const StepRequest& request, const CommonOptions& common) {
  if (r.plan.layouts.empty()) return no_fit_json(r, request, common);
  const Plan& p = r.plan;
  Json j = search_json(r, request, common);
  j["best"] = row_json(r, request, p.layouts.front());
  j["lower_bound_s"] = p.lower_bound.in_s();
  j["proven_s"] = p.proven.in_s();
  j["gap_percent"] = gap_percent(p);
  j["tie_percent"] = r.tie_percent();
  j["tied"] = 1 + r.tied.size();
  for (const auto& [name, flags] : framework_flags(r.machine.scenario.model, p.layouts.front().layout))
    j["flags"][name] = flags;
  j["layouts"] = Json::array();
  for (const PlannedLayout& l : p.layouts) {
    const std::size_t i = j["layouts"].size();
    j["layouts"].push_back(row_json(r, request, l));
    if (i > 0 && i <= r.tied.size() && r.tied[i - 1]) j["layouts"].back()["decided_by"] = decided_json(*r.tied[i - 1]);
  }
  j["pareto"] = Json::array();
  for (const PlannedLayout& l : r.front) j["pareto"].push_back(row_json(r, request, l));
  j["pareto_proven"] = r.front_proven;
  j["band_percent"] = Json::array({r.machine.band.low_percent, r.machine.band.high_percent});
  j["band_basis"] = r.machine.band.basis;
  return j;
}

Document plan_document(const PlanRun& r, const StepRequest& request, const std::string& typed, std::uint32_t rows) {
  if (r.plan.layouts.empty()) return no_fit_document(r, typed);
  Document d{fmt::format("{} on {}", r.machine.scenario.model.name, r.machine.cluster().name), typed, {}};
  d.add(verdict(r));
  d.add(layout_table(r, rows));
  add_batch_words(r.plan.layouts.front().layout, d);
  if (r.front.size() > 1) d.add(front_table(r));
  if (Facts ties = tie_facts(r, rows); !ties.items.empty()) d.add(std::move(ties));
  Facts commands;
  commands.title = "Each row as a step";
  for (std::size_t i = 0; i < std::min<std::size_t>(rows, r.plan.layouts.size()); ++i)
    commands.items.emplace_back(std::to_string(i + 1), request_line(request, r.plan.layouts[i].layout));
  d.add(std::move(commands));
  d.blocks.push_back(
      {Facts{"The best in other programs", framework_flags(r.machine.scenario.model, r.plan.layouts.front().layout)}});
  return d;
}

}  // namespace busbar
