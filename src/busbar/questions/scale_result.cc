#include "busbar/questions/scale_result.h"

namespace busbar::questions {

const Record& record_of(const SizePoint*) {
  using P = SizePoint;
  static const Record record(
      "size",
      {{"change", &P::change, "", "of the machine, as asked; empty: the scenario itself"},
       {"scaling", &P::scaling, "", "weak: the batch grows; strong: it stays"},
       {"gpus", &P::gpus, "", "that take part"},
       {"dp", &P::dp, "", "replicas"},
       {"global_batch", &P::global_batch, "", "sequences per step"},
       {"step_time_s", &P::step_time_s, "s", "of a step"},
       {"tokens_per_s_per_gpu", &P::tokens_per_s_per_gpu, "1/s", "of a GPU"},
       {"mfu", &P::mfu, "", "model FLOPs over the peak, 0 to 1"},
       {"efficiency", &P::efficiency, "", "tokens per second and GPU over those at the smallest size"},
       {"idle_gpus", &P::idle_gpus, "", "that the loss of efficiency is worth"},
       {"tokens_per_s", &P::tokens_per_s, "1/s", "of all GPUs"},
       {"switch_tiers", &P::switch_tiers, "", "between servers; 0: one server"},
       Field("faster_because", &P::faster_because, "", "why a GPU is faster than at the size before").or_absent(),
       {"exposed_percent", &P::exposed_percent, "%", "of the step is exposed communication"},
       {"exposed_dp_percent", &P::exposed_dp_percent, "%", "the part of it that data parallelism adds"},
       {"idle_percent", &P::idle_percent, "%", "of the step in which no kernel runs"},
       {"usd_per_day_per_percent", &P::usd_per_day_per_percent, "USD", "what 1 % of the step costs a day"},
       {"breakdown_s", &P::breakdown_s, "", "the parts of the step"}});
  return record;
}

const Record& record_of(const SkippedSize*) {
  using S = SkippedSize;
  static const Record record("skipped size",
                             {{"change", &S::change, "", "of the machine, as asked; empty: the scenario itself"},
                              {"scaling", &S::scaling, "", "weak or strong"},
                              {"gpus", &S::gpus, "", "of this size"},
                              {"dp", &S::dp, "", "replicas"},
                              {"reason", &S::reason, "", "why there is no result"}});
  return record;
}

const Record& record_of(const StopsHiding*) {
  using S = StopsHiding;
  static const Record record("sizes", {{"weak", &S::weak, "", "GPUs with a growing batch; null: never"},
                                       {"strong", &S::strong, "", "GPUs with the same batch; null: never"}});
  return record;
}

const Record& record_of(const OtherSizes*) {
  using S = OtherSizes;
  static const Record record(
      "sizes", {{"cluster", &S::cluster, "", "the machine"},
                {"model", &S::model, "", "its name"},
                {"usd_per_gpu_hour", &S::usd_per_gpu_hour, "USD", "price; 0: not known"},
                {"skipped", &S::skipped, "", "sizes without a result"},
                Field("change", &S::change, "", "as asked").or_absent(),
                {"stops_hiding_at_gpus", &S::stops_hiding_at_gpus, "",
                 "from where on communication of data parallelism is exposed more than at the smallest size"}});
  return record;
}

const Record& record_of(const ScaleAnswer*) {
  using S = ScaleAnswer;
  static const Record record(
      "sizes", {{"cluster", &S::cluster, "", "the machine"},
                {"model", &S::model, "", "its name"},
                {"usd_per_gpu_hour", &S::usd_per_gpu_hour, "USD", "price; 0: not known"},
                {"points", &S::points, "", "sizes of all machines"},
                {"skipped", &S::skipped, "", "sizes without a result"},
                Field("change", &S::change, "", "as asked").or_absent(),
                {"stops_hiding_at_gpus", &S::stops_hiding_at_gpus, "",
                 "from where on communication of data parallelism is exposed more than at the smallest size"},
                Field("beside", &S::beside, "", "the other machines").or_absent(),
                {"engine", &S::engine, "", "flow, analytic or packet"},
                {"complete", &S::complete, "", "false: interrupted"}});
  return record;
}

namespace {

const char* scaling_word(bool weak) { return weak ? "weak" : "strong"; }

std::optional<std::string> given(const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); }

SizePoint size_point(const step::ScaleRun& r, const step::ScalePoint& p) {
  return {r.change,
          scaling_word(p.weak),
          p.layout.ranks(),
          p.layout.dp,
          p.layout.batch.global,
          p.step.in_s(),
          p.tokens_per_s_per_gpu,
          p.mfu,
          p.efficiency,
          p.idle_gpus(),
          p.tokens_per_s(),
          p.tiers,
          given(p.because),
          p.exposed_percent(),
          p.data_percent(),
          p.idle_percent(),
          p.usd_per_day_percent,
          step_seconds(p.breakdown)};
}

std::vector<SkippedSize> skipped_sizes(const step::ScaleRun& r) {
  std::vector<SkippedSize> out;
  for (const step::ScalePoint& p : r.points)
    if (!p.skipped.empty()) out.push_back({r.change, scaling_word(p.weak), p.layout.ranks(), p.layout.dp, p.skipped});
  return out;
}

StopsHiding stops_hiding(const step::ScaleRun& r) {
  const auto at = [&](bool weak) {
    const std::uint32_t gpus = r.stops_hiding(weak);
    return gpus == 0 ? std::nullopt : std::optional(gpus);
  };
  return {at(true), at(false)};
}

}  // namespace

ScaleAnswer scale_answer(std::vector<step::ScaleRun> runs, std::string engine, bool complete) {
  const step::ScaleRun& first = runs.front();
  ScaleAnswer a{first.cluster,
                first.model,
                first.usd_per_gpu_hour,
                {},
                skipped_sizes(first),
                given(first.change),
                stops_hiding(first),
                {},
                std::move(engine),
                complete,
                {}};
  for (const step::ScaleRun& r : runs) {
    for (const step::ScalePoint& p : r.points)
      if (p.skipped.empty()) a.points.push_back(size_point(r, p));
    if (&r != &first)
      a.beside.push_back({r.cluster, r.model, r.usd_per_gpu_hour, skipped_sizes(r), given(r.change), stops_hiding(r)});
  }
  a.runs = std::move(runs);
  return a;
}

}  // namespace busbar::questions
