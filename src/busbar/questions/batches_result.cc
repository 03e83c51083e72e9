#include "busbar/questions/batches_result.h"

namespace busbar::questions {

const Record& record_of(const BatchPoint*) {
  using P = BatchPoint;
  static const Record record(
      "batch", {{"change", &P::change, "", "of the machine, as asked; empty: the scenario itself"},
                {"cluster", &P::cluster, "", "the machine"},
                {"global_batch", &P::global_batch, "", "sequences per step"},
                {"micro_batches", &P::micro_batches, "", "of a replica in a step"},
                {"step_time_s", &P::step_time_s, "s", "of a step"},
                {"tokens_per_s_per_gpu", &P::tokens_per_s_per_gpu, "1/s", "of a GPU"},
                {"mfu", &P::mfu, "", "model FLOPs over the peak, 0 to 1"},
                {"efficiency", &P::efficiency, "", "over one replica with as many micro-batches"},
                {"exposed_tp_percent", &P::exposed_tp_percent, "%", "of the step is exposed tensor parallelism"},
                {"exposed_dp_percent", &P::exposed_dp_percent, "%", "of the step is exposed data parallelism"},
                {"idle_percent", &P::idle_percent, "%", "of the step in which no kernel runs"},
                {"breakdown_s", &P::breakdown_s, "", "the parts of the step"}});
  return record;
}

const Record& record_of(const ClaimResult*) {
  using C = ClaimResult;
  static const Record record("claim",
                             {{"change", &C::change, "", "of the machine, as asked; empty: the scenario itself"},
                              {"cluster", &C::cluster, "", "the machine"},
                              {"measure", &C::measure, "", "what the claim is about"},
                              {"said_of", &C::said_of, "", "the machine of the source"},
                              {"low_percent", &C::low_percent, "%", "claimed"},
                              {"high_percent", &C::high_percent, "%", "claimed"},
                              {"holds", &C::holds, "", "for a batch that was tried"},
                              {"from_batch", &C::from_batch, "", "the first for which it holds; null: none"},
                              {"to_batch", &C::to_batch, "", "the last one; null: none"},
                              {"reaches_below", &C::reaches_below, "", "it holds for the smallest batch"},
                              {"reaches_above", &C::reaches_above, "", "it holds for the largest batch"},
                              {"least_percent", &C::least_percent, "%", "over the batches"},
                              {"most_percent", &C::most_percent, "%", "over the batches"}});
  return record;
}

const Record& record_of(const BatchesAnswer*) {
  using B = BatchesAnswer;
  static const Record record("batches", {{"model", &B::model, "", "its name"},
                                         {"points", &B::points, "", "batches of all machines"},
                                         {"claims", &B::claims, "", "published claims, and where they hold"},
                                         {"claims_source", &B::claims_source, "", "where they were published"},
                                         {"engine", &B::engine, "", "flow, analytic or packet"},
                                         {"complete", &B::complete, "", "false: interrupted"}});
  return record;
}

namespace {

BatchPoint batch_point(const step::MachineBatches& m, const step::ScalePoint& p) {
  return {m.change,
          m.cluster,
          p.layout.batch.global,
          p.layout.micro_batches(),
          p.step.in_s(),
          p.tokens_per_s_per_gpu,
          p.mfu,
          p.efficiency,
          step::measured_percent(p, spec::ClaimMeasure::kExposedTp),
          p.data_percent(),
          p.idle_percent(),
          step_seconds(p.breakdown)};
}

ClaimResult claim_result(const step::MachineBatches& m, const step::ClaimRange& c) {
  const auto known = [](std::uint32_t batch) { return batch == 0 ? std::nullopt : std::optional(batch); };
  return {m.change,        m.cluster,           spec::name_of(c.claim.measure),
          c.claim.said_of, c.claim.low_percent, c.claim.high_percent,
          c.to_batch != 0, known(c.from_batch), known(c.to_batch),
          c.reaches_below, c.reaches_above,     c.least_percent,
          c.most_percent};
}

}  // namespace

BatchesAnswer batches_answer(step::BatchesRun run, std::string engine, bool complete) {
  BatchesAnswer a{run.model, {}, {}, run.claims.source, std::move(engine), complete, {}};
  for (const step::MachineBatches& m : run.machines) {
    for (const step::ScalePoint& p : m.points) a.points.push_back(batch_point(m, p));
    for (const step::ClaimRange& c : m.claims) a.claims.push_back(claim_result(m, c));
  }
  a.run = std::move(run);
  return a;
}

}  // namespace busbar::questions
