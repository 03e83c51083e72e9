#include "busbar/cli/train_batches.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/train_report.h"
#include "busbar/report/style.h"
#include "busbar/step/machine.h"
#include "busbar/views/curve_drawing.h"

namespace busbar {
namespace {

constexpr std::uint32_t kMostSequences = 1u << 24;

double measured(const ScalePoint& p, ClaimMeasure m) {
  if (m == ClaimMeasure::kEfficiency) return 100 * p.efficiency;
  return 100 * p.breakdown.exposed_tp.in_s() / p.step.in_s();
}

bool concerns(ClaimMeasure m, const LayoutSpec& l) { return m == ClaimMeasure::kEfficiency ? l.dp > 1 : l.tp > 1; }

/// The steps of one machine, each simulated once. Batches are counted in units of the smallest that all replicas share.
class BatchCurve {
 public:
  BatchCurve(const TrainVariant& variant, const TrainAsk& ask, LayoutSpec base)
      : variant_(variant), ask_(ask), base_(std::move(base)) {
    ask_.timeline = ask_.relief = false;
    ask_.fold = variant.fold;
  }
  std::uint32_t smallest() const { return base_.dp * base_.micro_batch * (base_.vpp > 1 ? base_.pp : 1); }
  const std::string& cluster() const { return cluster_; }
  const std::string& does_not_fit() const { return does_not_fit_; }

  Result<ScalePoint> at(std::uint32_t units) {
    if (const auto known = points_.find(units); known != points_.end()) return known->second;
    Scenario scenario = variant_.scenario;
    scenario.layout.global_batch = units * smallest();
    Result<TrainRun> run = step::predict(std::move(scenario), ask_);
    if (!run.ok()) return variant_.change.empty() ? run.error() : with_change(run.error(), variant_.change);
    cluster_ = run->cluster().name;
    if (run->does_not_fit) does_not_fit_ = run->does_not_fit->message;
    ScalePoint p;
    p.layout = run->layout;
    p.step = run->step.step_time;
    p.breakdown = run->step.breakdown;
    p.tokens_per_s_per_gpu = run->metrics.tokens_per_s_per_gpu;
    p.mfu = run->metrics.mfu;
    p.efficiency = run->scaling_efficiency.value_or(1);
    return points_.emplace(units, std::move(p)).first->second;
  }

 private:
  const TrainVariant& variant_;
  TrainAsk ask_;
  LayoutSpec base_;
  std::map<std::uint32_t, ScalePoint> points_;
  std::string cluster_, does_not_fit_;
};

/// The layout with its smallest possible batch, so that the batch in the file does not matter.
Result<LayoutSpec> smallest_layout(const TrainVariant& v) {
  BUSBAR_ASSIGN(const Cluster cluster, load_machine(v.scenario.cluster, v.scenario.cluster_overrides));
  LayoutSpec l = v.scenario.layout;
  l.global_batch = 0;
  return resolve_layout(std::move(l), v.scenario.model, static_cast<std::uint32_t>(cluster.topology.gpus().size()));
}

std::vector<std::uint32_t> doubling(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> out;
  for (std::uint64_t u = first; u < last; u *= 2) out.push_back(static_cast<std::uint32_t>(u));
  out.push_back(last);
  return out;
}

Result<ClaimRange> range_of(const Claim& claim, const std::vector<std::uint32_t>& samples, BatchCurve& curve) {
  const auto figure = [&](std::uint32_t units) -> Result<double> {
    BUSBAR_ASSIGN(const ScalePoint p, curve.at(units));
    return measured(p, claim.measure);
  };
  BUSBAR_ASSIGN(const BatchRange range, find_batch_range(samples, claim.low_percent, claim.high_percent, figure));
  ClaimRange out;
  out.claim = claim;
  out.reaches_below = range.reaches_below;
  out.reaches_above = range.reaches_above;
  if (!range.nowhere()) {
    out.from_batch = range.first * curve.smallest();
    out.to_batch = range.last * curve.smallest();
  }
  for (const std::uint32_t s : samples) {
    BUSBAR_ASSIGN(const double percent, figure(s));
    out.least_percent = s == samples.front() ? percent : std::min(out.least_percent, percent);
    out.most_percent = s == samples.front() ? percent : std::max(out.most_percent, percent);
  }
  return out;
}

Result<MachineBatches> run_machine(const TrainVariant& v, const TrainAsk& ask, const BatchAsk& batches,
                                   const Claims& claims) {
  BUSBAR_ASSIGN(LayoutSpec base, smallest_layout(v));
  MachineBatches m;
  m.change = v.change;
  m.layout = base;
  BatchCurve curve(v, ask, std::move(base));
  const std::uint32_t unit = curve.smallest(), first = std::max(1u, (batches.from + unit - 1) / unit),
                      last = batches.to / unit;
  if (last < first)
    return invalid(fmt::format("no batch from {} to {} is a multiple of {}, the smallest that {} replicas share",
                               batches.from, batches.to, unit, m.layout.dp),
                   {"", 0, 0, "--batches"});
  const std::vector<std::uint32_t> samples = doubling(first, last);
  for (const std::uint32_t s : samples) {
    BUSBAR_ASSIGN(ScalePoint p, curve.at(s));
    m.points.push_back(std::move(p));
  }
  for (const Claim& c : claims.claims) {
    if (!concerns(c.measure, m.layout)) continue;
    BUSBAR_ASSIGN(ClaimRange r, range_of(c, samples, curve));
    m.claims.push_back(std::move(r));
  }
  m.cluster = curve.cluster();
  m.does_not_fit = curve.does_not_fit();
  return m;
}

std::string claim_words(const Claim& c) {
  return fmt::format("{:g} to {:g} % {}", c.low_percent, c.high_percent,
                     c.measure == ClaimMeasure::kEfficiency ? "efficiency" : "of the step is exposed TP");
}

/// "cards-100g", or the change.
std::string label_of(const MachineBatches& m) { return m.change.empty() ? m.cluster : m.change; }

Table points_table(const MachineBatches& m) {
  Table t{fmt::format("Batches, {}", label_of(m)),
          {"batch", "micro-batches", "step (s)", "tokens/s/GPU", "efficiency (%)", "exposed TP (%)", "exposed DP (%)",
           "idle (%)"}};
  for (const ScalePoint& p : m.points)
    t.rows.push_back({std::to_string(p.layout.global_batch), std::to_string(p.layout.micro_batches()),
                      format_number(p.step.in_s()), format_number(p.tokens_per_s_per_gpu),
                      fmt::format("{:.1f}", 100 * p.efficiency),
                      fmt::format("{:.1f}", measured(p, ClaimMeasure::kExposedTp)),
                      fmt::format("{:.1f}", p.data_percent()), fmt::format("{:.1f}", p.idle_percent())});
  if (!m.does_not_fit.empty()) t.note = "Does not fit: " + m.does_not_fit;
  return t;
}

Table claims_table(const BatchesRun& r) {
  Table t{"Published claims, and the batches for which they hold",
          {to_left("figure"), to_left("said of"), to_left("machine"), to_left("batches")}};
  for (const Claim& said : r.claims.claims) {
    std::string figure = claim_words(said), of = said.said_of;
    for (const MachineBatches& m : r.machines) {
      for (const ClaimRange& c : m.claims) {
        if (c.claim.measure != said.measure || c.claim.said_of != said.said_of) continue;
        t.rows.push_back({std::exchange(figure, ""), std::exchange(of, ""), label_of(m), words_of(c)});
      }
    }
  }
  t.note = fmt::format("Figures: {}.", r.claims.source);
  return t;
}

/// One curve per machine: efficiency, or exposed TP if there is only one replica.
Drawing batches_drawing(const BatchesRun& r) {
  constexpr int kColours[] = {colour::kCompute, colour::kTp, colour::kDp, colour::kPp, colour::kOptimizer, colour::kCp};
  const bool replicas = concerns(ClaimMeasure::kEfficiency, r.machines.front().layout);
  const ClaimMeasure measure = replicas ? ClaimMeasure::kEfficiency : ClaimMeasure::kExposedTp;
  std::vector<Curve> curves;
  for (const MachineBatches& m : r.machines) {
    Curve c{label_of(m), kColours[curves.size() % std::size(kColours)], {}};
    for (const ScalePoint& p : m.points)
      c.points.push_back({p.layout.global_batch, measured(p, measure),
                          fmt::format("{}, batch {}: {:.1f} %, {} a step", c.name, p.layout.global_batch,
                                      measured(p, measure), format_duration(p.step.in_s()))});
    curves.push_back(std::move(c));
  }
  Drawing d = draw_curves(curves, "sequences per step");
  d.title = replicas ? "Efficiency relative to one replica" : "Exposed tensor parallelism, of the step";
  d.description = d.title + " by batch, one curve per machine; the tables below have the figures.";
  return d;
}

/// How the first machine's efficiency grows with the batch, and that of the others.
Highlight batches_verdict(const BatchesRun& r) {
  std::string out;
  for (const MachineBatches& m : r.machines) {
    if (m.points.empty()) continue;
    const ScalePoint &a = m.points.front(), &b = m.points.back();
    out += fmt::format("{}{}: {} tokens/s per GPU with {} sequences per step, {} with {}", out.empty() ? "" : "; ",
                       label_of(m), format_number(a.tokens_per_s_per_gpu), a.layout.global_batch,
                       format_number(b.tokens_per_s_per_gpu), b.layout.global_batch);
  }
  return {out + "."};
}

}  // namespace

Result<BatchAsk> parse_batches(const std::string& text) {
  BUSBAR_ASSIGN(const auto range, parse_range(text, "--batches", "batches", "64..4096", kMostSequences));
  return BatchAsk{range.first, range.second};
}

std::string words_of(const ClaimRange& r) {
  if (r.to_batch == 0) return fmt::format("nowhere: {:.1f} to {:.1f} %", r.least_percent, r.most_percent);
  if (r.reaches_below && r.reaches_above) return fmt::format("{} to {}, all tried", r.from_batch, r.to_batch);
  if (r.reaches_above) return fmt::format("{} and more", r.from_batch);
  if (r.reaches_below) return fmt::format("{} and less", r.to_batch);
  return r.from_batch == r.to_batch ? std::to_string(r.from_batch) : fmt::format("{} to {}", r.from_batch, r.to_batch);
}

Result<BatchesRun> run_batches(const std::vector<TrainVariant>& variants, const TrainAsk& ask, const BatchAsk& batches,
                               const Claims& claims, LongRun& watch) {
  BatchesRun out;
  out.model = variants.front().scenario.model.name;
  out.claims = claims;
  for (const TrainVariant& v : variants) {
    if (!watch.go_on(out.machines.size(), variants.size())) break;
    Result<MachineBatches> m = run_machine(v, ask, batches, claims);
    if (!m.ok() && watch.interrupted()) break;
    if (!m.ok()) return m.error();
    out.machines.push_back(std::move(*m));
  }
  return out;
}

Json batches_json(const BatchesRun& r) {
  const auto batch_or_null = [](std::uint32_t batch) { return batch == 0 ? Json(nullptr) : Json(batch); };
  Json j{{"schema", "busbar.train/1"}, {"model", r.model}, {"points", Json::array()}, {"claims", Json::array()}};
  for (const MachineBatches& m : r.machines) {
    for (const ScalePoint& p : m.points) {
      Json row{{"change", m.change},
               {"cluster", m.cluster},
               {"global_batch", p.layout.global_batch},
               {"micro_batches", p.layout.micro_batches()},
               {"step_time_s", p.step.in_s()},
               {"tokens_per_s_per_gpu", p.tokens_per_s_per_gpu},
               {"mfu", p.mfu},
               {"efficiency", p.efficiency},
               {"exposed_tp_percent", measured(p, ClaimMeasure::kExposedTp)},
               {"exposed_dp_percent", p.data_percent()},
               {"idle_percent", p.idle_percent()}};
      for (const auto& [name, d] : breakdown_rows(p.breakdown)) row["breakdown_s"][name] = d.in_s();
      j["points"].push_back(std::move(row));
    }
    for (const ClaimRange& c : m.claims)
      j["claims"].push_back({{"change", m.change},
                             {"cluster", m.cluster},
                             {"measure", name_of(c.claim.measure)},
                             {"said_of", c.claim.said_of},
                             {"low_percent", c.claim.low_percent},
                             {"high_percent", c.claim.high_percent},
                             {"holds", c.to_batch != 0},
                             {"from_batch", batch_or_null(c.from_batch)},
                             {"to_batch", batch_or_null(c.to_batch)},
                             {"reaches_below", c.reaches_below},
                             {"reaches_above", c.reaches_above},
                             {"least_percent", c.least_percent},
                             {"most_percent", c.most_percent}});
  }
  j["claims_source"] = r.claims.source;
  return j;
}

Document batches_document(const BatchesRun& r, const std::string& typed) {
  Document d;
  const LayoutSpec& l = r.machines.front().layout;
  d.title = fmt::format("{} on {} GPUs over batches of many sizes", r.model, l.ranks());
  d.command = typed;
  d.add(batches_verdict(r), Audience::kPage);
  d.add(claims_table(r));
  d.add(batches_drawing(r), Audience::kPage);
  for (const MachineBatches& m : r.machines) d.add(points_table(m));
  d.add(Paragraph{
      "batch: sequences per step. efficiency: tokens per second and GPU relative to one replica alone with as many "
      "micro-batches; above 100 % if replicas share the optimizer's work. exposed: share of exposed communication in "
      "the step. idle: share of the step in which no kernel runs on the GPU."});
  return d;
}

}  // namespace busbar
