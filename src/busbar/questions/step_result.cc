#include "busbar/questions/step_result.h"

#include <iterator>
#include <tuple>

#include "busbar/predict/request.h"
#include "busbar/questions/request_line.h"
#include "busbar/questions/step_volumes.h"
#include "busbar/questions/step_words.h"
#include "busbar/workload/expert_load.h"

namespace busbar::questions {
namespace {

template <typename T>
Record parts_record(const char* name, const char* unit) {
  using P = PartsOfStep<T>;
  return Record(name, {{"compute", &P::compute, unit, "computation"},
                       {"exposed_tp", &P::exposed_tp, unit, "tensor parallelism that nothing hides"},
                       {"exposed_dp", &P::exposed_dp, unit, "gradients and parameters that nothing hides"},
                       {"exposed_pp", &P::exposed_pp, unit, "sends between stages that nothing hides"},
                       {"exposed_cp", &P::exposed_cp, unit, "context parallelism that nothing hides"},
                       {"exposed_ep", &P::exposed_ep, unit, "exchanges of experts that nothing hides"},
                       {"bubble", &P::bubble, unit, "waiting for the work of other stages"},
                       {"optimizer", &P::optimizer, unit, "update of the parameters"},
                       {"other", &P::other, unit, "everything else"},
                       {"slowest_gpu", &P::slowest_gpu, unit,
                        "waiting for the slowest of GPUs that vary, and for random delays"}});
}

/// `of`: from a duration to a number.
template <typename T, typename F>
PartsOfStep<T> parts_of(const step::Breakdown& b, F of) {
  return {of(b.compute),    of(b.exposed_tp), of(b.exposed_dp), of(b.exposed_pp), of(b.exposed_cp),
          of(b.exposed_ep), of(b.bubble),     of(b.optimizer),  of(b.other),      of(b.slowest_gpu)};
}

}  // namespace

const Record& record_of(const StepSeconds*) {
  static const Record record = parts_record<double>("parts", "s");
  return record;
}
const Record& record_of(const StepPicoseconds*) {
  static const Record record = parts_record<std::int64_t>("parts", "ps");
  return record;
}

StepSeconds step_seconds(const step::Breakdown& parts) {
  return parts_of<double>(parts, [](Duration d) { return d.in_s(); });
}

const Record& record_of(const MemoryResult*) {
  using M = MemoryResult;
  static const Record record(
      "memory", {{"parameters", &M::parameters, "bytes", "weights"},
                 {"gradients", &M::gradients, "bytes", "of the parameters"},
                 {"optimizer", &M::optimizer, "bytes", "its states"},
                 {"activations", &M::activations, "bytes", "kept for the backward pass"},
                 {"logits", &M::logits, "bytes", "while the loss is computed"},
                 {"gathered", &M::gathered, "bytes", "parameters gathered from other ranks"},
                 {"recomputed", &M::recomputed, "bytes", "activations of the layer that is recomputed"},
                 {"temporary", &M::temporary, "bytes", "inside a layer"},
                 {"fragmentation", &M::fragmentation, "bytes", "held by the allocator without use"},
                 {"workspace", &M::workspace, "bytes", "outside the allocator: CUDA, libraries, communicators"},
                 {"total", &M::total, "bytes", "sum of the parts"},
                 {"stage", &M::stage, "", "pipeline stage"},
                 Field("capacity", &M::capacity, "bytes", "of a GPU").or_absent()});
  return record;
}

const Record& record_of(const GradientReduction*) {
  using G = GradientReduction;
  static const Record record("reduction",
                             {{"alone_s", &G::alone_s, "s", "its calls one after another, each on the idle machine"},
                              {"backward_s", &G::backward_s, "s", "the backward pass that can hide it"}});
  return record;
}

const Record& record_of(const VolumeResult*) {
  using V = VolumeResult;
  static const Record record("volume",
                             {{"class", &V::cls, "", "tp, dp, pp, cp or ep"},
                              {"collective", &V::collective, "", "operation"},
                              {"ranks", &V::ranks, "", "of a group"},
                              {"calls_per_gpu", &V::calls_per_gpu, "", "in one step, mean"},
                              {"message_bytes", &V::message_bytes, "bytes", "of a call, mean"},
                              {"bytes_per_gpu", &V::bytes_per_gpu, "bytes", "sent by one GPU in one step, mean"},
                              {"law", &V::law, "", "sent by one GPU, as a factor of the call's size S"},
                              {"level", &V::level, "", "scale-up links, inside a node, network or host memory"},
                              {"links", &V::links, "", "the farthest that it needs"}});
  return record;
}

const Record& record_of(const SpreadResult*) {
  using S = SpreadResult;
  static const Record record("spread",
                             {{"gpu_percent", &S::gpu_percent, "%", "by which a GPU varies (standard deviation)"},
                              {"expected_step_s", &S::expected_step_s, "s", "mean: step_time_s"},
                              {"p10_s", &S::p10_s, "s", "1 step in 10 takes less"},
                              {"p50_s", &S::p50_s, "s", "median"},
                              {"p90_s", &S::p90_s, "s", "1 step in 10 takes more"},
                              {"p99_s", &S::p99_s, "s", "1 step in 100 takes more"},
                              {"link_delays", &S::link_delays, "", "expected number in a step, on its critical path"},
                              {"slow_gpu_chance", &S::slow_gpu_chance, "", "share of steps in which a GPU is slow"}});
  return record;
}

const Record& record_of(const JobsOfStep*) {
  using J = JobsOfStep;
  static const Record record("jobs", {{"count", &J::count, "", "equal jobs at the same time"},
                                      {"placement", &J::placement, "", "of their nodes"},
                                      {"alone_s", &J::alone_s, "s", "the step of one without the others"}});
  return record;
}

const Record& record_of(const ExpertsResult*) {
  using E = ExpertsResult;
  static const Record record(
      "experts", {{"busiest_rank", &E::busiest_rank, "", "its load over the mean, in the mean over exchanges"},
                  {"busiest_rank_p90", &E::busiest_rank_p90, "", "exceeded in one of ten exchanges"},
                  {"dropped", &E::dropped, "", "share of the tokens' copies for which there is no place"}});
  return record;
}

const Record& record_of(const PlannedResult*) {
  using P = PlannedResult;
  static const Record record("planned", {{"because", &P::because, "", "why the default layout cannot run"},
                                         {"flags", &P::flags, "", "that give this layout"}});
  return record;
}

const Record& record_of(const StepPrice*) {
  using P = StepPrice;
  static const Record record(
      "price", {{"per_gpu_hour", &P::per_gpu_hour, "USD", "0: not known"},
                {"price_source", &P::price_source, "", "where the price is from"},
                {"per_step", &P::per_step, "USD", "of a step"},
                {"per_million_tokens", &P::per_million_tokens, "USD", "of a million tokens"},
                {"per_day", &P::per_day, "USD", "of the whole machine"},
                {"per_day_per_percent_of_step", &P::per_day_per_percent, "USD", "what 1 % of the step costs a day"}});
  return record;
}

const Record& record_of(const CallResult*) {
  using C = CallResult;
  static const Record record(
      "call",
      {{"what", &C::what, "", "of its first use"},
       {"class", &C::cls, "", "tp, dp, pp, cp, ep, optimizer or other"},
       {"collective", &C::collective, "", "operation"},
       {"algorithm", &C::algorithm, "", "by which it runs"},
       {"ranks", &C::ranks, "", "of a group"},
       {"groups", &C::groups, "", "that run it at the same time"},
       {"size_bytes", &C::size_bytes, "bytes", "as nccl-tests counts them"},
       {"count", &C::count, "", "uses in a step"},
       {"mean_us", &C::mean_us, "us", "of a use"},
       {"alone_us", &C::alone_us, "us", "of a use on the idle machine"},
       {"slowdown", &C::slowdown, "", "of alone_us: kernels that exchange single tokens, or products at the same time"},
       {"command", &C::command, "", "that gives alone_us / slowdown; null: none can"},
       {"total_s", &C::total_s, "s", "of all uses"},
       {"exposed_s", &C::exposed_s, "s", "that nothing hides"},
       {"bound_by", &C::bound_by, "", "what limits it"}});
  return record;
}

const Record& record_of(const ReliefOfStep*) {
  using R = ReliefOfStep;
  static const Record record("relief", {{"what", &R::what, "", "the change of links"},
                                        {"gain_percent", &R::gain_percent, "%", "of the time saved"}});
  return record;
}

const Record& record_of(const PacketsOfStep*) {
  using P = PacketsOfStep;
  static const Record record(
      "packets", joined({{{"transport", &P::transport, "", "of packets"}, {"lb", &P::lb, "", "how paths are chosen"}},
                         fields_inside(&P::counts)}));
  return record;
}

const Record& record_of(const StepAnswer*) {
  using S = StepAnswer;
  static const Record record(
      "step",
      joined(
          {{{"cluster", &S::cluster, "", "name of the machine"},
            {"gpus", &S::gpus, "", "that take part"},
            Field("gpus_per_domain", &S::gpus_per_domain, "", "of each server or rack").or_absent(),
            Field("spare_gpus", &S::spare_gpus, "", "that idle in these; rates and prices count them").or_absent(),
            {"model", &S::model, "", "its name"},
            {"model_parameters", &S::model_parameters, "", "its sizes"},
            {"layout", &S::layout, "", "resolved"},
            {"framework", &S::framework, "", "whose defaults hold; null: Busbar's own"},
            {"framework_release", &S::framework_release, "", "of the framework"},
            {"engine", &S::engine, "", "flow, analytic or packet"},
            {"inputs_hash", &S::inputs_hash, "", "of everything that the result depends on"},
            {"step_time_s", &S::step_time_s, "s", "what a stopwatch shows: mean, with waiting for the slowest GPU"},
            {"step_time_ps", &S::step_time_ps, "ps", "the same"},
            {"balanced_step_time_s", &S::balanced_step_time_s, "s", "if all GPUs were equal, without random delays"},
            {"tokens_per_s_per_gpu", &S::tokens_per_s_per_gpu, "1/s", "of a GPU"},
            {"model_tflops_per_gpu", &S::model_tflops_per_gpu, "TFLOP/s", "with causal attention"},
            {"model_tflops_per_gpu_full_attention", &S::model_tflops_per_gpu_full_attention, "TFLOP/s",
             "with full attention"},
            {"mfu", &S::mfu, "", "model FLOPs over the peak, 0 to 1"},
            {"mfu_full_attention", &S::mfu_full_attention, "", "the same with full attention"},
            {"mfu_counts", &S::mfu_counts, "", "what mfu counts"},
            Field("assumptions", &S::assumptions, "", "about the machine, where its description says nothing")
                .or_absent(),
            Field("penalty", &S::penalty, "", "of the transport").or_absent(),
            Field("step_time_p99_s", &S::step_time_p99_s, "s", "if all transfers between servers took their p99")
                .or_absent(),
            Field("packets", &S::packets, "", "of the packet engine").or_absent(),
            {"breakdown_s", &S::breakdown_s, "", "the parts of the step; they sum to it"},
            {"breakdown_ps", &S::breakdown_ps, "", "the same"},
            {"idle_percent", &S::idle_percent, "%", "of the step in which no kernel runs"},
            {"gradient_reduction", &S::gradient_reduction, "", "and what can hide it"},
            {"compute_slowed_s", &S::compute_slowed_s, "s", "part of compute that collectives at the same time cost"},
            {"critical_role", &S::critical_role, "", "whose parts these are"},
            {"memory_bytes", &S::memory_bytes, "", "of the fullest GPU"},
            {"memory_stages", &S::memory_stages, "", "of a GPU of each stage"},
            {"volumes", &S::volumes, "", "what a GPU sends in one step, by purpose"},
            {"jitter", &S::jitter, "", "what differs between steps"},
            Field("jobs", &S::jobs, "", "of several jobs").or_absent(),
            Field("experts", &S::experts, "", "loads of the ranks of experts").or_absent(),
            Field("planned", &S::planned, "", "of a layout that a search chose").or_absent(),
            {"fits", &S::fits, "", "into the memory of a GPU"},
            {"scaling_efficiency", &S::scaling_efficiency, "",
             "tokens per second and GPU over those of one replica; null: not asked for"}},
           fields_inside(&S::policy),
           {{"cost_usd", &S::cost_usd, "", "at the price of a GPU-hour"},
            {"calls", &S::calls, "", "collectives, most exposed first"},
            {"bound_by", &S::bound_by, "", "what limits the most exposed collective"},
            {"relief", &S::relief, "", "gain from each kind of link; empty: not asked for"},
            {"band_percent", &S::band_percent, "%", "9 of 10 published steps were so far from their prediction"},
            {"band_basis", &S::band_basis, "", "the measurements that this is from"},
            {"likely_step_s", &S::likely_step_s, "s", "low and high, with waiting for the slowest GPU"},
            {"verdict", &S::verdict, "", "in a sentence"}}}));
  return record;
}

namespace {

MemoryResult memory_result(const workload::MemoryUse& m) {
  MemoryResult r;
  std::uint64_t* const parts[] = {&r.parameters, &r.gradients,  &r.optimizer, &r.activations,   &r.logits,
                                  &r.gathered,   &r.recomputed, &r.temporary, &r.fragmentation, &r.workspace};
  const auto named = workload::memory_parts(m);
  static_assert(std::tuple_size_v<decltype(workload::memory_parts(m))> == std::size(parts));
  for (std::size_t i = 0; i < named.size(); ++i) *parts[i] = count(named[i].bytes);
  r.total = count(m.total());
  r.stage = m.stage;
  return r;
}

/// The command that gives the time of the call alone; none for packets, with penalties, and for unequal pairs, which it
/// cannot state.
std::optional<std::string> command_of(const step::TrainRun& r, const program::CollectiveCall& prepared) {
  if (r.engine == "packet" || r.machine->policy().penalty || !prepared.pairs.begin.empty()) return {};
  busbar::predict::CollectiveRequest asked{r.scenario.cluster, r.scenario.cluster_overrides, r.engine, prepared,
                                           r.predict};
  asked.call.algorithm = "auto";
  asked.call.protocol = program::Protocol::kAuto;
  asked.predict.nccl = nccl::to_string(r.machine->policy().nccl);
  return request_line(asked);
}

CallResult call_result(const step::TrainRun& r, const step::CallUse& u) {
  const program::CollectiveCall& c = r.program.calls[index(u.call)];
  return {r.program.labels[u.label],
          program::name_of(u.cls),
          collectives::name_of(c.op),
          c.algorithm,
          c.groups.size(),
          c.groups.groups(),
          count(c.bytes),
          u.count,
          u.mean_us(),
          u.alone.in_us(),
          c.slowdown,
          command_of(r, c),
          u.total.in_s(),
          u.exposed.in_s(),
          bound_result(u.bound, r.cluster().topology)};
}

VolumeResult volume_result(const Volume& v) {
  return {program::name_of(v.cls),
          collectives::name_of(v.op),
          v.ranks,
          v.calls_per_gpu,
          v.message_bytes,
          v.bytes_per_gpu,
          law_of(v.op),
          v.level,
          v.links};
}

std::optional<std::string> name_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void add_time(const step::TrainRun& r, StepAnswer& a) {
  const step::Breakdown& parts = r.step.breakdown;
  a.step_time_s = r.step.step_time.in_s();
  a.step_time_ps = r.step.step_time.in_ps();
  a.balanced_step_time_s = r.step.balanced.in_s();
  a.breakdown_s = step_seconds(parts);
  a.breakdown_ps = parts_of<std::int64_t>(parts, [](Duration d) { return d.in_ps(); });
  a.idle_percent = step::idle_percent(parts, r.step.step_time);
  const step::GradientWindow w = step::gradient_window(r);
  a.gradient_reduction = {w.reduction.in_s(), w.backward.in_s()};
  a.compute_slowed_s = r.step.slowed.in_s();
  a.critical_role = r.program.roles[index(r.step.critical_role)].name;
  const step::StepSpread s = step::step_spread(r);
  a.jitter = {
      100 * r.kernels.jitter_share, a.step_time_s, s.p10_s, s.p50_s, s.p90_s, s.p99_s, r.law.delays, r.law.slow_chance};
  a.band_percent = {r.band.low_percent, r.band.high_percent};
  a.band_basis = r.band.basis;
  const auto [low_s, high_s] = likely_step_s(r);
  a.likely_step_s = {low_s, high_s};
}

void add_rates(const step::TrainRun& r, StepAnswer& a) {
  a.tokens_per_s_per_gpu = r.metrics.tokens_per_s_per_gpu;
  a.model_tflops_per_gpu = r.metrics.model_tflops_per_gpu;
  a.model_tflops_per_gpu_full_attention = r.metrics.model_tflops_per_gpu_full_attention;
  a.mfu = r.metrics.mfu;
  a.mfu_full_attention = r.metrics.mfu_full_attention;
  a.mfu_counts = "causal attention, no recomputation, dense bf16 peak";
  a.scaling_efficiency = r.scaling_efficiency;
  a.cost_usd = {r.cluster().usd_per_gpu_hour,  r.cluster().price_source, r.cost.usd_per_step,
                r.cost.usd_per_million_tokens, r.cost.usd_per_day,       r.cost.usd_per_day_per_percent};
}

void add_memory(const step::TrainRun& r, StepAnswer& a) {
  a.memory_bytes = memory_result(r.memory);
  a.memory_bytes.capacity = count(r.memory_capacity);
  for (std::uint32_t s = 0; s < r.layout.pp; ++s)
    a.memory_stages.push_back(memory_result(workload::stage_memory(r.scenario.model, r.layout, s)));
  a.fits = !r.does_not_fit.has_value();
}

void add_communication(const step::TrainRun& r, StepAnswer& a) {
  a.assumptions = r.cluster().assumptions;
  if (const auto& penalty = r.machine->policy().penalty) {
    a.penalty = penalty_result(*penalty);
    a.step_time_p99_s = r.p99.in_s();
  }
  if (!r.transport.empty()) a.packets = PacketsOfStep{r.transport, r.balance, r.packet_counts};
  a.volumes = volume_results(r);
  a.policy = policy_result(r.machine->policy(), r.predict.launch, r.machine->protocol().launch);
  for (const step::CallUse& u : r.step.calls) a.calls.push_back(call_result(r, u));
  if (!a.calls.empty()) a.bound_by = a.calls.front().bound_by;
  for (const choice::Relief& x : r.relief) a.relief.push_back({x.what, x.gain_percent});
}

}  // namespace

std::vector<VolumeResult> volume_results(const step::TrainRun& run) {
  std::vector<VolumeResult> out;
  for (const Volume& v : step_volumes(run)) out.push_back(volume_result(v));
  return out;
}

StepAnswer step_answer(const step::TrainRun& r, std::string inputs_hash) {
  StepAnswer a;
  a.cluster = r.cluster().name;
  a.gpus = r.layout.ranks();
  if (r.settings.gpus_per_domain > 0) {
    a.gpus_per_domain = r.settings.gpus_per_domain;
    a.spare_gpus = r.gpus_with_spares(a.gpus) - a.gpus;
  }
  a.model = r.scenario.model.name;
  a.model_parameters = model_counts(r.scenario.model, r.layout.batch.seq);
  a.layout = layout_result(r.layout);
  a.framework = name_or_null(r.scenario.framework);
  a.framework_release = name_or_null(r.scenario.framework_release);
  a.engine = r.engine;
  a.inputs_hash = std::move(inputs_hash);
  add_time(r, a);
  add_rates(r, a);
  add_memory(r, a);
  add_communication(r, a);
  if (r.settings.jobs > 1) a.jobs = JobsOfStep{r.settings.jobs, r.settings.placement, r.alone.in_s()};
  if (r.scenario.model.moe.experts > 0) {
    const workload::ExpertLoad load = workload::expert_load(r.scenario.model, r.layout);
    a.experts = ExpertsResult{load.busiest, load.busiest_p90, load.dropped};
  }
  if (!r.planned_flags.empty()) a.planned = PlannedResult{r.planned_because, r.planned_flags};
  a.verdict = step_verdict(r);
  return a;
}

}  // namespace busbar::questions
