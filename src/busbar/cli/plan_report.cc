#include "busbar/cli/plan_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/cli/session.h"
#include "busbar/cli/train_report.h"

namespace busbar {
namespace {

double usd_of(const PlanRun& r, const PlannedLayout& l) {
  return step_cost(l.layout, l.step.step_time, r.machine.cluster().usd_per_gpu_hour).usd_per_step;
}

double mfu_of(const PlanRun& r, const PlannedLayout& l) {
  return step_metrics(r.machine.scenario.model, l.layout, l.step.step_time, r.machine.kernels.bf16.peak_flops_per_s)
      .mfu;
}

std::string short_layout(const LayoutSpec& l) {
  std::string s = fmt::format("TP {} PP {}", l.tp, l.pp);
  if (l.vpp > 1) s += fmt::format(" VPP {}", l.vpp);
  s += fmt::format(" DP {}", l.dp);
  if (l.cp > 1) s += fmt::format(" CP {}", l.cp);
  if (l.ep > 1) s += fmt::format(" EP {}", l.ep);
  s += fmt::format(" ZeRO-{}", l.zero);
  if (l.schedule != PipelineSchedule::k1F1B) s += fmt::format(" {}", name_of(l.schedule));
  return s;
}

/// How far the best may be from the fastest, in percent: 0 if it is the fastest.
double gap_percent(const Plan& p) {
  const double best = p.layouts.front().step.step_time.in_s();
  return 100 * (best - p.proven.in_s()) / p.proven.in_s();
}

Highlight verdict(const PlanRun& r) {
  const PlannedLayout& best = r.plan.layouts.front();
  const std::string how =
      r.plan.complete
          ? fmt::format("No layout of the {} in the space is faster.", r.plan.searched)
          : fmt::format("No layout of the {} in the space is more than {:.1f} % faster.", r.plan.searched,
                        gap_percent(r.plan));
  return {fmt::format("{} per step, {} % MFU, with {}, micro-batch {}, recompute {}. {}",
                      format_duration(best.step.step_time.in_s()), format_number(100 * mfu_of(r, best)),
                      short_layout(best.layout), best.layout.micro_batch, name_of(best.layout.recompute), how)};
}

Table layout_table(const PlanRun& r, std::uint32_t rows) {
  Table t{"Layouts, the fastest first",
          {{"#"},
           {"layout", Align::kLeft},
           {"batch"},
           {"recompute", Align::kLeft},
           {"step"},
           {"MFU (%)"},
           {"memory"},
           {"$/step"},
           {"slower because of", Align::kLeft}}};
  const PlannedLayout& best = r.plan.layouts.front();
  for (const PlannedLayout& l : r.plan.layouts) {
    if (t.rows.size() == rows) break;
    const double usd = usd_of(r, l);
    t.rows.push_back({std::to_string(t.rows.size() + 1), short_layout(l.layout), std::to_string(l.layout.micro_batch),
                      name_of(l.layout.recompute), format_duration(l.step.step_time.in_s()),
                      fmt::format("{:.1f}", 100 * mfu_of(r, l)),
                      format_size(static_cast<double>(count(l.memory.total()))), usd > 0 ? format_number(usd) : "-",
                      &l == &best ? "" : why_lost(l, best)});
  }
  const double bound = r.plan.lower_bound.in_s();
  t.note = fmt::format(
      "{} layouts: {} do not divide, {} do not fit into {}, {} cannot be faster by their bounds, {} timed. Least bound "
      "of those that fit: {}, {:.1f} % below the best.",
      r.plan.searched, r.plan.refused, r.plan.no_fit, format_size(static_cast<double>(count(r.capacity))),
      r.plan.bounded, r.plan.layouts.size(), format_duration(bound),
      100 * (1 - bound / best.step.step_time.in_s()));
  return t;
}

Json row_json(const PlanRun& r, const PlannedLayout& l) {
  Json j{{"layout", layout_json(l.layout)},
         {"step_time_s", l.step.step_time.in_s()},
         {"step_time_ps", l.step.step_time.in_ps()},
         {"lower_bound_s", l.bound.in_s()},
         {"mfu", mfu_of(r, l)},
         {"memory_bytes", count(l.memory.total())},
         {"usd_per_step", usd_of(r, l)},
         {"lost_because", &l == &r.plan.layouts.front() ? "" : why_lost(l, r.plan.layouts.front())},
         {"command", request_line(r.request, l.layout)}};
  for (const auto& [name, d] : breakdown_rows(l.step.breakdown)) j["breakdown_s"][name] = d.in_s();
  return j;
}

}  // namespace

Json plan_json(const PlanRun& r, const CommonOptions& common) {
  const Plan& p = r.plan;
  Json j{{"schema", "busbar.plan/1"},
         {"cluster", r.machine.cluster().name},
         {"gpus", p.layouts.front().layout.ranks()},
         {"model", r.machine.scenario.model.name},
         {"engine", r.request.engine},
         {"inputs_hash",
          inputs_hash(common, r.machine.kernels.text + r.machine.scenario.text + r.machine.cluster().text)},
         {"best", row_json(r, p.layouts.front())},
         {"lower_bound_s", p.lower_bound.in_s()},
         {"proven_s", p.proven.in_s()},
         {"gap_percent", gap_percent(p)},
         {"complete", p.complete},
         {"searched", p.searched},
         {"pruned", {{"refused", p.refused}, {"memory", p.no_fit}, {"bound", p.bounded}}},
         {"timed", p.layouts.size()}};
  j["layouts"] = Json::array();
  for (const PlannedLayout& l : p.layouts) j["layouts"].push_back(row_json(r, l));
  j["band_percent"] = Json::array({r.machine.band.low_percent, r.machine.band.high_percent});
  j["band_basis"] = r.machine.band.basis;
  return j;
}

Document plan_document(const PlanRun& r, const std::string& typed, std::uint32_t rows) {
  Document d{fmt::format("{} on {}", r.machine.scenario.model.name, r.machine.cluster().name), typed, {}};
  d.blocks.push_back({verdict(r)});
  d.blocks.push_back({layout_table(r, rows)});
  Facts commands;
  commands.title = "Each row as a step";
  for (std::size_t i = 0; i < std::min<std::size_t>(rows, r.plan.layouts.size()); ++i)
    commands.items.emplace_back(std::to_string(i + 1), request_line(r.request, r.plan.layouts[i].layout));
  d.blocks.push_back({std::move(commands)});
  return d;
}

}  // namespace busbar
