#include "busbar/step/batches_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "busbar/step/machine.h"

namespace busbar::step {
namespace {

constexpr std::uint32_t kMostSequences = 1u << 24;

/// The steps of one machine, each simulated once. Batches are counted in units of the smallest that all replicas share.
class BatchCurve {
 public:
  BatchCurve(const TrainVariant& variant, const TrainAsk& ask, workload::LayoutSpec base)
      : variant_(variant), ask_(ask), base_(std::move(base)) {
    ask_.timeline = ask_.relief = false;
    ask_.fold = variant.fold;
  }
  std::uint32_t smallest() const { return base_.dp * base_.batch.micro * (base_.vpp > 1 ? base_.pp : 1); }
  const std::string& cluster() const { return cluster_; }
  const std::string& does_not_fit() const { return does_not_fit_; }

  Result<ScalePoint> at(std::uint32_t units) {
    if (const auto known = points_.find(units); known != points_.end()) return known->second;
    spec::Scenario scenario = variant_.scenario;
    scenario.layout.batch.global = units * smallest();
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
  workload::LayoutSpec base_;
  std::map<std::uint32_t, ScalePoint> points_;
  std::string cluster_, does_not_fit_;
};

/// The layout with its smallest possible batch, so that the batch in the file does not matter.
Result<workload::LayoutSpec> smallest_layout(const TrainVariant& v) {
  BUSBAR_ASSIGN(const spec::Cluster cluster, load_machine(v.scenario.cluster, v.scenario.cluster_overrides));
  workload::LayoutSpec l = v.scenario.layout;
  l.batch.global = 0;
  return workload::resolve_layout(std::move(l), v.scenario.model,
                                  static_cast<std::uint32_t>(cluster.topology.gpus().size()));
}

std::vector<std::uint32_t> doubling(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> out;
  for (std::uint64_t u = first; u < last; u *= 2) out.push_back(static_cast<std::uint32_t>(u));
  out.push_back(last);
  return out;
}

Result<ClaimRange> range_of(const spec::Claim& claim, const std::vector<std::uint32_t>& samples, BatchCurve& curve) {
  const auto figure = [&](std::uint32_t units) -> Result<double> {
    BUSBAR_ASSIGN(const ScalePoint p, curve.at(units));
    return measured_percent(p, claim.measure);
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
                                   const spec::Claims& claims) {
  BUSBAR_ASSIGN(workload::LayoutSpec base, smallest_layout(v));
  MachineBatches m;
  m.change = v.change;
  m.layout = base;
  BatchCurve curve(v, ask, std::move(base));
  const std::uint32_t unit = curve.smallest(), first = std::max(1u, (batches.from + unit - 1) / unit),
                      last = batches.to / unit;
  if (last < first)
    return invalid(fmt::format("no batch from {} to {} is a multiple of {}, the smallest that {} replicas share",
                               batches.from, batches.to, unit, m.layout.dp),
                   {"", 0, 0, "batches"});
  const std::vector<std::uint32_t> samples = doubling(first, last);
  for (const std::uint32_t s : samples) {
    BUSBAR_ASSIGN(ScalePoint p, curve.at(s));
    m.points.push_back(std::move(p));
  }
  for (const spec::Claim& c : claims.claims) {
    if (!concerns(c.measure, m.layout)) continue;
    BUSBAR_ASSIGN(ClaimRange r, range_of(c, samples, curve));
    m.claims.push_back(std::move(r));
  }
  m.cluster = curve.cluster();
  m.does_not_fit = curve.does_not_fit();
  return m;
}

}  // namespace

double measured_percent(const ScalePoint& p, spec::ClaimMeasure m) {
  if (m == spec::ClaimMeasure::kEfficiency) return 100 * p.efficiency;
  return 100 * p.breakdown.exposed_tp.in_s() / p.step.in_s();
}

bool concerns(spec::ClaimMeasure m, const workload::LayoutSpec& l) {
  return m == spec::ClaimMeasure::kEfficiency ? l.dp > 1 : l.tp > 1;
}

Result<BatchAsk> parse_batches(const std::string& text) {
  BUSBAR_ASSIGN(const auto range, parse_range(text, "batches", "batches", "64..4096", kMostSequences));
  return BatchAsk{range.first, range.second};
}

Result<BatchesRun> run_batches(const std::vector<TrainVariant>& variants, const TrainAsk& ask, const BatchAsk& batches,
                               const spec::Claims& claims, const Context& context) {
  BatchesRun out;
  out.model = variants.front().scenario.model.name;
  out.claims = claims;
  for (const TrainVariant& v : variants) {
    if (!context.go_on("machines", out.machines.size(), variants.size())) break;
    Result<MachineBatches> m = run_machine(v, ask, batches, claims);
    if (!m.ok() && context.stopped()) break;
    if (!m.ok()) return m.error();
    out.machines.push_back(std::move(*m));
  }
  return out;
}

}  // namespace busbar::step
