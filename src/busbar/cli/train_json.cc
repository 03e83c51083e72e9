
#include "busbar/base/json.h"
#include "busbar/cli/packet_options.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/request_line.h"
#include "busbar/cli/session.h"
#include "busbar/cli/train_report.h"
#include "busbar/cli/train_verdict.h"
#include "busbar/cli/train_volumes.h"
#include "busbar/views/penalty_words.h"
#include "busbar/workload/expert_load.h"

namespace busbar {
namespace {

Json memory_json(const MemoryUse& m) {
  Json j;
  for (const MemoryPart& p : memory_parts(m)) j[p.name] = count(p.bytes);
  j["total"] = count(m.total());
  j["stage"] = m.stage;
  return j;
}

Json stages_json(const TrainRun& r) {
  Json stages = Json::array();
  for (std::uint32_t s = 0; s < r.layout.pp; ++s)
    stages.push_back(memory_json(stage_memory(r.scenario.model, r.layout, s)));
  return stages;
}

/// The command that gives the time of the call alone; null for packets and with penalties, which it cannot state.
Json command_of(const TrainRun& r, const CollectiveCall& prepared) {
  if (r.engine == "packet" || r.machine->policy().penalty) return {};
  CollectiveRequest asked{r.scenario.cluster, r.scenario.cluster_overrides, r.engine, prepared, r.predict};
  asked.call.algorithm = "auto";
  asked.call.protocol = Protocol::kAuto;
  asked.predict.nccl = to_string(r.machine->policy().nccl);
  return request_line(asked);
}

Json call_json(const TrainRun& r, const CallUse& u) {
  const CollectiveCall& c = r.program.calls[index(u.call)];
  return {{"what", r.program.labels[u.label]},
          {"class", name_of(u.cls)},
          {"collective", name_of(c.op)},
          {"algorithm", c.algorithm},
          {"ranks", c.groups.size()},
          {"groups", c.groups.groups()},
          {"size_bytes", count(c.bytes)},
          {"count", u.count},
          {"mean_us", u.mean_us()},
          {"alone_us", u.alone.in_us()},
          {"command", command_of(r, c)},
          {"total_s", u.total.in_s()},
          {"exposed_s", u.exposed.in_s()},
          {"bound_by", bound_to_json(u.bound, r.cluster().topology)}};
}

}  // namespace

Json layout_json(const LayoutSpec& l) {
  return {{"tp", l.tp},
          {"pp", l.pp},
          {"vpp", l.vpp},
          {"dp", l.dp},
          {"cp", l.cp},
          {"ep", l.ep},
          {"expert_tp", l.expert_tensor()},
          {"expert_exchange", name_of(l.expert_exchange)},
          {"seq", l.seq},
          {"micro_batch", l.micro_batch},
          {"global_batch", l.global_batch},
          {"global_batch_basis", l.batch_basis.empty() ? "given" : l.batch_basis},
          {"micro_batches", l.micro_batches()},
          {"precision", name_of(l.precision)},
          {"zero", l.zero},
          {"recompute", name_of(l.recompute)},
          {"sequence_parallel", l.sequence_parallel},
          {"shard_ranks", l.shard_ranks()},
          {"schedule", name_of(l.schedule)},
          {"context", name_of(l.context)},
          {"attention", name_of(l.attention)},
          {"rank_order", name_of(l.rank_order)},
          {"chunk_layers", l.chunk_layers},
          {"compression", {{"bytes", l.compression.bytes}, {"exchange", name_of(l.compression.exchange)}}},
          {"secondary_shards", l.secondary_shards},
          {"straggler", {{"speed", l.straggler_speed}, {"stage", l.straggler_stage}}},
          {"offload", {{"optimizer", l.offload_optimizer}, {"activations", l.offload_activations}}}};
}

Json train_json(const TrainRun& r, const CommonOptions& common) {
  Json j{{"schema", "busbar.train/1"},
         {"cluster", r.cluster().name},
         {"gpus", r.layout.ranks()},
         {"model", r.scenario.model.name},
         {"layout", layout_json(r.layout)},
         {"framework", r.scenario.framework.empty() ? Json() : Json(r.scenario.framework)},
         {"framework_release", r.scenario.framework_release.empty() ? Json() : Json(r.scenario.framework_release)},
         {"engine", r.engine},
         {"inputs_hash", inputs_hash(common, r.kernels.text + r.scenario.text + r.cluster().text)},
         {"step_time_s", r.step.step_time.in_s()},
         {"step_time_ps", r.step.step_time.in_ps()},
         {"tokens_per_s_per_gpu", r.metrics.tokens_per_s_per_gpu},
         {"model_tflops_per_gpu", r.metrics.model_tflops_per_gpu},
         {"model_tflops_per_gpu_full_attention", r.metrics.model_tflops_per_gpu_full_attention},
         {"mfu", r.metrics.mfu},
         {"mfu_full_attention", r.metrics.mfu_full_attention},
         {"mfu_counts", "causal attention, no recomputation, dense bf16 peak"}};
  if (!r.cluster().assumptions.empty()) j["assumptions"] = r.cluster().assumptions;
  if (const auto& penalty = r.machine->policy().penalty) {
    j["penalty"] = to_json(*penalty);
    j["step_time_p99_s"] = r.p99.in_s();
  }
  if (!r.transport.empty()) {
    j["packets"] = {{"transport", r.transport}, {"lb", r.balance}};
    j["packets"].update(to_json(r.packet_counts));
  }
  for (const auto& [name, d] : breakdown_rows(r.step.breakdown)) j["breakdown_s"][name] = d.in_s();
  for (const auto& [name, d] : breakdown_rows(r.step.breakdown)) j["breakdown_ps"][name] = d.in_ps();
  j["idle_percent"] = idle_percent(r.step.breakdown, r.step.step_time);
  const GradientWindow w = gradient_window(r);
  j["gradient_reduction"] = {{"alone_s", w.reduction.in_s()}, {"backward_s", w.backward.in_s()}};
  j["compute_slowed_s"] = r.step.slowed.in_s();
  j["critical_role"] = r.program.roles[index(r.step.critical_role)].name;
  j["memory_bytes"] = memory_json(r.memory);
  j["memory_bytes"]["capacity"] = count(r.memory_capacity);
  j["memory_stages"] = stages_json(r);
  j["volumes"] = volume_json(step_volumes(r));
  const StepSpread s = step_spread(r);
  j["jitter"] = {{"gpu_percent", 100 * r.kernels.jitter_share},
                 {"expected_step_s", s.expected_s},
                 {"p10_s", s.p10_s},
                 {"p50_s", s.p50_s},
                 {"p90_s", s.p90_s},
                 {"p99_s", s.p99_s},
                 {"link_delays", r.law.delays},
                 {"slow_gpu_chance", r.law.slow_chance}};
  if (r.settings.jobs > 1)
    j["jobs"] = {{"count", r.settings.jobs}, {"placement", r.settings.placement}, {"alone_s", r.alone.in_s()}};
  if (r.scenario.model.moe.experts > 0) {
    const ExpertLoad load = expert_load(r.scenario.model, r.layout);
    j["experts"] = {{"busiest_rank", load.busiest}, {"busiest_rank_p90", load.busiest_p90}, {"dropped", load.dropped}};
  }
  if (!r.planned_flags.empty()) j["planned"] = {{"because", r.planned_because}, {"flags", r.planned_flags}};
  j["fits"] = !r.does_not_fit.has_value();
  j["scaling_efficiency"] = r.scaling_efficiency ? Json(*r.scaling_efficiency) : Json(nullptr);
  add_policy(j, r.machine->policy(), r.predict.launch, r.machine->protocol().launch);
  j["cost_usd"] = {{"per_gpu_hour", r.cluster().usd_per_gpu_hour},
                   {"price_source", r.cluster().price_source},
                   {"per_step", r.cost.usd_per_step},
                   {"per_million_tokens", r.cost.usd_per_million_tokens},
                   {"per_day", r.cost.usd_per_day},
                   {"per_day_per_percent_of_step", r.cost.usd_per_day_per_percent}};
  j["calls"] = Json::array();
  for (const CallUse& u : r.step.calls) j["calls"].push_back(call_json(r, u));
  j["bound_by"] = r.step.calls.empty()
                      ? Json{{"link", nullptr}, {"class", nullptr}, {"phase", nullptr}, {"kind", nullptr}}
                      : bound_to_json(r.step.calls.front().bound, r.cluster().topology);
  j["relief"] = Json::array();
  for (const Relief& x : r.relief) j["relief"].push_back({{"what", x.what}, {"gain_percent", x.gain_percent}});
  j["band_percent"] = Json::array({r.band.low_percent, r.band.high_percent});
  j["band_basis"] = r.band.basis;
  const auto [low_s, high_s] = likely_step_s(r);
  j["likely_step_s"] = Json::array({low_s, high_s});
  j["verdict"] = step_verdict(r).text;
  return j;
}

}  // namespace busbar
