#include "busbar/views/batches_document.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/report/style.h"
#include "busbar/views/curve_drawing.h"

namespace busbar::views {
namespace {

std::string claim_words(const spec::Claim& c) {
  return fmt::format("{:g} to {:g} % {}", c.low_percent, c.high_percent,
                     c.measure == spec::ClaimMeasure::kEfficiency ? "efficiency" : "of the step is exposed TP");
}

/// "cards-100g", or the change.
std::string label_of(const step::MachineBatches& m) { return m.change.empty() ? m.cluster : m.change; }

report::Table points_table(const step::MachineBatches& m) {
  report::Table t{fmt::format("Batches, {}", label_of(m)),
                  {"batch", "micro-batches", "step (s)", "tokens/s/GPU", "efficiency (%)", "exposed TP (%)",
                   "exposed DP (%)", "idle (%)"}};
  for (const step::ScalePoint& p : m.points)
    t.rows.push_back({std::to_string(p.layout.batch.global), std::to_string(p.layout.micro_batches()),
                      format_number(p.step.in_s()), format_number(p.tokens_per_s_per_gpu),
                      fmt::format("{:.1f}", 100 * p.efficiency),
                      fmt::format("{:.1f}", step::measured_percent(p, spec::ClaimMeasure::kExposedTp)),
                      fmt::format("{:.1f}", p.data_percent()), fmt::format("{:.1f}", p.idle_percent())});
  if (!m.does_not_fit.empty()) t.note = "Does not fit: " + m.does_not_fit;
  return t;
}

report::Table claims_table(const step::BatchesRun& r) {
  report::Table t{
      "Published claims, and the batches for which they hold",
      {report::to_left("figure"), report::to_left("said of"), report::to_left("machine"), report::to_left("batches")}};
  for (const spec::Claim& said : r.claims.claims) {
    std::string figure = claim_words(said), of = said.said_of;
    for (const step::MachineBatches& m : r.machines) {
      for (const step::ClaimRange& c : m.claims) {
        if (c.claim.measure != said.measure || c.claim.said_of != said.said_of) continue;
        t.rows.push_back({std::exchange(figure, ""), std::exchange(of, ""), label_of(m), words_of(c)});
      }
    }
  }
  t.note = fmt::format("Figures: {}.", r.claims.source);
  return t;
}

/// One curve per machine: efficiency, or exposed TP if there is only one replica.
report::Drawing batches_drawing(const step::BatchesRun& r) {
  constexpr int kColours[] = {report::colour::kCompute, report::colour::kTp,        report::colour::kDp,
                              report::colour::kPp,      report::colour::kOptimizer, report::colour::kCp};
  const bool replicas = step::concerns(spec::ClaimMeasure::kEfficiency, r.machines.front().layout);
  const spec::ClaimMeasure measure = replicas ? spec::ClaimMeasure::kEfficiency : spec::ClaimMeasure::kExposedTp;
  std::vector<Curve> curves;
  for (const step::MachineBatches& m : r.machines) {
    Curve c{label_of(m), kColours[curves.size() % std::size(kColours)], {}};
    for (const step::ScalePoint& p : m.points)
      c.points.push_back({p.layout.batch.global, step::measured_percent(p, measure),
                          fmt::format("{}, batch {}: {:.1f} %, {} a step", c.name, p.layout.batch.global,
                                      step::measured_percent(p, measure), format_duration(p.step.in_s()))});
    curves.push_back(std::move(c));
  }
  report::Drawing d = draw_curves(curves, "sequences per step");
  d.title = replicas ? "Efficiency relative to one replica" : "Exposed tensor parallelism, of the step";
  d.description = d.title + " by batch, one curve per machine; the tables below have the figures.";
  return d;
}

/// How the first machine's efficiency grows with the batch, and that of the others.
report::Highlight batches_verdict(const step::BatchesRun& r) {
  std::string out;
  for (const step::MachineBatches& m : r.machines) {
    if (m.points.empty()) continue;
    const step::ScalePoint &a = m.points.front(), &b = m.points.back();
    out += fmt::format("{}{}: {} tokens/s per GPU with {} sequences per step, {} with {}", out.empty() ? "" : "; ",
                       label_of(m), format_number(a.tokens_per_s_per_gpu), a.layout.batch.global,
                       format_number(b.tokens_per_s_per_gpu), b.layout.batch.global);
  }
  return {out + "."};
}

}  // namespace

std::string words_of(const step::ClaimRange& r) {
  if (r.to_batch == 0) return fmt::format("nowhere: {:.1f} to {:.1f} %", r.least_percent, r.most_percent);
  if (r.reaches_below && r.reaches_above) return fmt::format("{} to {}, all tried", r.from_batch, r.to_batch);
  if (r.reaches_above) return fmt::format("{} and more", r.from_batch);
  if (r.reaches_below) return fmt::format("{} and less", r.to_batch);
  return r.from_batch == r.to_batch ? std::to_string(r.from_batch) : fmt::format("{} to {}", r.from_batch, r.to_batch);
}

report::Document batches_document(const step::BatchesRun& r) {
  report::Document d;
  const workload::LayoutSpec& l = r.machines.front().layout;
  d.title = fmt::format("{} on {} GPUs over batches of many sizes", r.model, l.ranks());
  d.add(batches_verdict(r), report::Audience::kPage);
  d.add(claims_table(r));
  d.add(batches_drawing(r), report::Audience::kPage);
  for (const step::MachineBatches& m : r.machines) d.add(points_table(m));
  d.add(report::Paragraph{
      "batch: sequences per step. efficiency: tokens per second and GPU relative to one replica alone with as many "
      "micro-batches; above 100 % if replicas share the optimizer's work. exposed: share of exposed communication in "
      "the step. idle: share of the step in which no kernel runs on the GPU."});
  return d;
}

}  // namespace busbar::views
