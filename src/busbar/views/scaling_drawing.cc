#include "busbar/views/scaling_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/report/style.h"
#include "busbar/views/curve_drawing.h"
#include "busbar/views/scale_document.h"

namespace busbar::views {
namespace {

/// A vertical line where the machine needs another tier of switches.
void mark_levels(const step::ScaleRun& run, bool weak, const std::string& of, int colour, std::vector<Curve>& out) {
  const auto points = run.curve(weak);
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i]->tiers != points[i - 1]->tiers)
      out.push_back({of + level_words(*points[i]), colour, {{points[i]->layout.ranks(), 0, ""}}, true});
}

}  // namespace

report::Drawing draw_scaling(const step::ScaleRun& run, bool weak) {
  std::vector<const step::ScalePoint*> points;
  for (const step::ScalePoint& p : run.points)
    if (p.weak == weak && p.skipped.empty()) points.push_back(&p);
  Curve efficiency{"efficiency", report::colour::kCompute, {}},
      exposed{"exposed communication", report::colour::kTp, {}};
  for (const step::ScalePoint* p : points) {
    for (const auto& [curve, percent] :
         {std::pair{&efficiency, 100 * p->efficiency}, std::pair{&exposed, p->exposed_percent()}})
      curve->points.push_back({p->layout.ranks(), percent,
                               fmt::format("{} GPUs: {} {:.1f} %, {} a step", p->layout.ranks(), curve->name, percent,
                                           format_duration(p->step.in_s()))});
  }
  std::vector<Curve> curves{std::move(efficiency), std::move(exposed)};
  mark_levels(run, weak, "", report::colour::kMuted, curves);
  report::Drawing d = draw_curves(curves, "GPUs");
  if (d.shapes.empty()) return d;
  d.title = weak ? "Weak scaling: the batch grows with the machine" : "Strong scaling: the batch stays";
  d.description =
      fmt::format("Efficiency falls from 100 % at {} GPUs to {:.1f} % at {}.", points.front()->layout.ranks(),
                  100 * points.back()->efficiency, points.back()->layout.ranks());
  d.note = "Tokens per second and GPU relative to the smallest size; exposed: share of the step. ";
  d.note += hiding_words(run, weak);
  return d;
}

report::Drawing draw_scalings(const std::vector<step::ScaleRun>& runs, bool weak) {
  constexpr int kColours[] = {report::colour::kCompute, report::colour::kTp, report::colour::kDp, report::colour::kPp,
                              report::colour::kOptimizer};
  const auto base = runs.front().curve(weak);
  if (base.empty()) return {};
  std::vector<Curve> curves;
  Curve ideal{"ideal", report::colour::kMuted, {}};
  for (const step::ScaleRun& r : runs) {
    Curve curve{r.change.empty() ? r.cluster : r.change, kColours[curves.size() % std::size(kColours)], {}};
    for (const step::ScalePoint* p : r.curve(weak)) {
      const double percent = 100 * p->tokens_per_s_per_gpu / base.front()->tokens_per_s_per_gpu;
      curve.points.push_back(
          {p->layout.ranks(), percent, fmt::format("{} GPUs: {} {:.1f} %", p->layout.ranks(), curve.name, percent)});
      ideal.points.push_back({p->layout.ranks(), 100, "ideal"});
    }
    curves.push_back(std::move(curve));
  }
  std::sort(ideal.points.begin(), ideal.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  curves.push_back(std::move(ideal));
  for (std::size_t i = 0; i < runs.size(); ++i)
    mark_levels(runs[i], weak, curves[i].name + ": ", curves[i].colour, curves);
  report::Drawing d = draw_curves(curves, "GPUs");
  if (d.shapes.empty()) return d;
  d.title = fmt::format("{} scaling side by side", weak ? "Weak" : "Strong");
  d.description = "Tokens per second and GPU of all machines relative to one base.";
  d.note = fmt::format("Tokens per second and GPU; 100 %: {} GPUs of {}.", base.front()->layout.ranks(),
                       runs.front().cluster);
  return d;
}

}  // namespace busbar::views
