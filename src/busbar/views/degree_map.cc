#include "busbar/views/degree_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/plan/space.h"
#include "busbar/report/style.h"
#include "busbar/report/text_shape.h"
#include "busbar/views/layout_words.h"

namespace busbar::views {
namespace {

constexpr double kLeft = 70, kTop = 30, kWide = 92, kHigh = 40, kGap = 3;
constexpr std::size_t kMostDegrees = 10;

/// The best that was timed with these degrees, and whether anything with them runs and fits.
struct DegreeCell {
  const plan::PlannedLayout* best = nullptr;
  bool runs = false, fits = false;
};
using DegreeCells = std::map<std::pair<std::uint32_t, std::uint32_t>, DegreeCell>;  // by TP, PP

/// Tries the layouts that need least memory.
void try_cells(const plan::PlanRun& run, DegreeCells& cells) {
  const workload::ModelSpec& model = run.machine.scenario.model;
  plan::PlanSpace space;
  space.base = run.machine.scenario.layout;  // the best one is resolved, and has its layers in chunks
  space.base.batch.global = run.plan.layouts.front().layout.batch.global;
  space.base.dp = 0;
  space.zero = {0, 3};
  space.schedule = {workload::PipelineSchedule::k1F1B};
  plan::for_each_point(space, model, run.plan.layouts.front().layout.ranks(), [&](const plan::PlanPoint& p) {
    DegreeCell& cell = cells[{p.tp, p.pp}];
    if (cell.fits) return;
    const Result<workload::LayoutSpec> l =
        workload::resolve_layout(plan::layout_of(space, p, 3), model, run.plan.layouts.front().layout.ranks());
    if (!l.ok()) return;
    cell.runs = true;
    cell.fits = workload::check_fits(workload::memory_use(model, *l), run.capacity).ok();
  });
  for (const plan::PlannedLayout& l : run.plan.layouts) {
    DegreeCell& cell = cells[{l.layout.tp, l.layout.pp}];
    cell.runs = cell.fits = true;
    if (cell.best == nullptr || l.step.step_time < cell.best->step.step_time) cell.best = &l;
  }
  std::erase_if(cells, [](const auto& c) { return !c.second.runs; });
}

/// Strokes across a cell: it does not fit.
void add_hatch(double x, double y, report::Drawing& d) {
  constexpr double kStep = 9, w = kWide - kGap, h = kHigh - kGap;
  for (double at = kStep; at < w + h; at += kStep) {
    const double x0 = std::max(0.0, at - h), x1 = std::min(at, w);
    report::Shape line{report::Shape::Kind::kLine, x + x0, y + at - x0, x1 - x0, x0 - x1};
    line.colour = report::colour::kMuted;
    d.shapes.push_back(std::move(line));
  }
}

}  // namespace

report::Drawing draw_degrees(const plan::PlanRun& run) {
  report::Drawing d;
  if (run.plan.layouts.empty()) return d;
  DegreeCells cells;
  try_cells(run, cells);
  std::set<std::uint32_t> tps, pps;
  for (const auto& [degrees, cell] : cells) tps.insert(degrees.first), pps.insert(degrees.second);
  if (cells.size() < 2 || tps.size() > kMostDegrees || pps.size() > kMostDegrees) return d;
  const Duration best = run.plan.layouts.front().step.step_time;
  d.title = "The fastest layout for each TP and PP";
  d.description = "A map of TP by PP: the time of the fastest layout that was timed; hatched where none fits.";
  d.note =
      "The paler, the slower; the best has a thick edge. Hatched: none fits. Without a time: not timed, because no "
      "layout "
      "there can be faster than the best by its bound.";
  d.width = kLeft + kWide * static_cast<double>(tps.size()) + 10;
  d.height = kTop + kHigh * static_cast<double>(pps.size()) + 10;
  double x = kLeft;
  for (const std::uint32_t tp : tps) {
    d.shapes.push_back(report::text_shape(x + (kWide - kGap) / 2, kTop / 2, fmt::format("TP {}", tp)));
    double y = kTop;
    for (const std::uint32_t pp : pps) {
      if (tp == *tps.begin())
        d.shapes.push_back(report::text_shape(kLeft / 2, y + (kHigh - kGap) / 2, fmt::format("PP {}", pp)));
      const auto at = cells.find({tp, pp});
      if (at != cells.end()) {
        const DegreeCell& c = at->second;
        report::Shape box{report::Shape::Kind::kRect, x, y, kWide - kGap, kHigh - kGap};
        box.colour = report::colour::kFrame;
        std::string text;
        if (c.best != nullptr) {
          const double slower = c.best->step.step_time.in_s() / best.in_s() - 1;
          box.colour = report::colour::kLeaf;
          box.thickness = c.best->step.step_time == best ? 3 : 1;
          box.opacity = std::clamp(1 - slower, 0.25, 1.0);
          text = format_duration(c.best->step.step_time.in_s());
          box.text = fmt::format("{}: {}", short_layout(c.best->layout), text);
        } else {
          box.text = c.fits ? "not timed: it cannot be faster" : "does not fit";
        }
        d.shapes.push_back(std::move(box));
        if (!c.fits) add_hatch(x, y, d);
        if (!text.empty()) d.shapes.push_back(report::text_shape(x + (kWide - kGap) / 2, y + (kHigh - kGap) / 2, text));
      }
      y += kHigh;
    }
    x += kWide;
  }
  return d;
}

}  // namespace busbar::views
