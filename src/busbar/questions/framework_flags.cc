#include "busbar/questions/framework_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

#include "busbar/base/json.h"
#include "busbar/base/text.h"
#include "busbar/plan/space.h"
#include "busbar/questions/flag_words.h"
#include "busbar/questions/internal/megatron_stages.h"
#include "busbar/workload/trained_names.h"

namespace busbar::questions {
namespace {

/// Megatron offloads whole layers, all but one, only without stages and without recomputation.
bool whole_layers(const workload::LayoutSpec& l) {
  return l.pp == 1 && l.recomputation.kind == workload::Recompute::kNone;
}

/// What a program cannot do of a layout, one after another.
void remark(std::string& remarks, const std::string& more) { remarks += (remarks.empty() ? "" : "; ") + more; }

/// Megatron cuts layers into equal chunks unless a layout of stages is given.
bool even_stages(const workload::LayoutSpec& l) {
  const std::vector<std::uint32_t>& layers = l.split.chunk_layers;
  return std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to()) == layers.end();
}

using Settings = std::vector<std::pair<const char*, std::uint32_t>>;

/// "--tensor-model-parallel-size 8 ...": our settings with the program's names.
std::string named(std::string_view program, const Settings& settings, char between) {
  std::string s;
  for (const auto& [ours, value] : settings)
    s += fmt::format("{}{}{}{}", s.empty() ? "" : " ", flag_of_program(program, ours), between, value);
  return s;
}

/// Megatron's `moe_act` is that of experts.
std::string megatron_modules(const workload::RecomputeModules& m, char between) {
  std::string s;
  for (const auto& [name, module] : plan::kRecomputeModules)
    if (m.*module)
      s += (s.empty() ? "" : std::string(1, between)) + (std::string_view(name) == "act" ? "moe_act" : name);
  return s;
}

/// "--bf16 --fp8-format hybrid": Megatron's own kinds of precision are over one of 16 bits.
std::string megatron_precision(workload::Precision precision) {
  const auto words = [](workload::Precision p) {
    return " " + words_of_program(kMegatron, "--precision", workload::name_of(p));
  };
  const bool of_16_bits = precision == workload::Precision::kBf16 || precision == workload::Precision::kFp16;
  return (of_16_bits ? "" : words(workload::Precision::kBf16)) + words(precision);
}

/// Keys that Megatron has a flag for, where they differ from what it does without.
std::string megatron_settings(const workload::ModelSpec& model, const workload::LayoutSpec& l) {
  const bool experts = model.moe.experts > 0 && l.ep > 1;
  const bool shards = l.sharding.zero > 0;
  const std::pair<std::string, bool> keys[] = {
      {"sequence_parallel=true", l.tp > 1 && l.sequence_parallel},
      {"overlap.tp=true", l.tp > 1 && l.overlap.tp},
      {std::string("context=") + workload::name_of(l.context),
       l.cp > 1 && l.context != workload::ContextParallel::kRing},
      {std::string("expert_exchange=") + workload::name_of(l.experts.exchange), experts},
      {"overlap.shared_experts=true", experts && l.overlap.shared_experts},
      {"gradient_bytes=2", l.exchange.gradient_bytes == 2},
      {"parameter_bytes=1", l.exchange.parameter_bytes == 1},
      {"attention=unfused", l.attention == workload::AttentionKernel::kUnfused},
      {"cuda_graphs=true", l.cuda_graphs},
      {"overlap.grad_reduce=true", l.overlap.grad_reduce},
      {"overlap.param_gather=true", shards && l.overlap.param_gather},
      {"rank_order=" + workload::name_of(l.rank_order), l.rank_order == workload::kTpCpPpDp}};
  std::string s;
  for (const auto& [key, differs] : keys)
    if (differs) s += " " + words_of_program(kMegatron, "--set", "layout." + key);
  if (experts && l.expert_tensor() != l.tp) s += fmt::format(" --expert-tensor-parallel-size {}", l.expert_tensor());
  return s;
}

ProgramFlags megatron_flags(const workload::ModelSpec& model, const workload::LayoutSpec& l) {
  Settings settings{{"--tp", l.tp},
                    {"--pp", l.pp},
                    {"--cp", l.cp},
                    {"--micro-batch", l.batch.micro},
                    {"--global-batch", l.batch.global},
                    {"--seq", l.batch.seq}};
  const bool even = even_stages(l);
  if (l.vpp > 1 && even) settings.emplace_back("--vpp", l.vpp);
  if (l.ep > 1) settings.emplace_back("--ep", l.ep);
  std::string s = named(kMegatron, settings, ' ') + megatron_precision(l.precision);
  if (!even) s += fmt::format(" --{} '{}'", kStageLayout, stage_words(l.split.chunk_layers, model.mtp));
  if (l.sharding.zero > 0) s += " " + words_of_program(kMegatron, "--zero", "1");
  if (l.sharding.zero >= 2)
    s += " " + words_of_program(kMegatron, "--zero", "0") + " " +
         words_of_program(kMegatron, "--zero", std::to_string(l.sharding.zero));
  s += megatron_settings(model, l);
  if (l.recomputation.kind == workload::Recompute::kSelective)
    s += " --recompute-granularity selective --recompute-modules " + megatron_modules(l.recomputation.modules, ' ');
  if (l.recomputation.kind == workload::Recompute::kFull)
    s += " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  if (l.offload.optimizer)
    s += " --optimizer-cpu-offload --optimizer-offload-fraction 1.0 --use-precision-aware-optimizer";
  if (l.offload.activations && whole_layers(l)) s += fmt::format(" --cpu-offloading-num-layers {}", model.layers - 1);
  if (l.offload.activations && !whole_layers(l)) {
    s += " --fine-grained-activation-offloading --offload-modules attn_norm core_attn attn_proj mlp_norm";
    if (model.moe.experts > 0) s += " expert_fc1 moe_act";
  }
  std::string remarks;
  if (l.schedule != workload::PipelineSchedule::k1F1B)
    remark(remarks, fmt::format("no flag for schedule {}", workload::name_of(l.schedule)));
  return {"Megatron-LM", s, remarks};
}

ProgramFlags torchtitan_flags(const workload::LayoutSpec& l) {
  const bool shards = l.sharding.zero >= 2;
  Settings settings{{"--tp", l.tp}, {"--pp", l.pp}, {"--cp", l.cp}};
  if (l.ep > 1) settings.emplace_back("--ep", l.ep);
  std::string s = named("torchtitan", settings, '=');
  s += fmt::format(" --parallelism.data_parallel_shard_degree={} --parallelism.data_parallel_replicate_degree={}",
                   shards ? l.dp : 1, shards ? 1 : l.dp);
  if (shards)
    s += fmt::format(" --parallelism.fsdp_reshard_after_forward={}", l.sharding.zero == 3 ? "always" : "never");
  const char* schedule = l.schedule == workload::PipelineSchedule::kGPipe       ? "GPipe"
                         : l.schedule == workload::PipelineSchedule::kZbV       ? "ZBVZeroBubble"
                         : l.schedule == workload::PipelineSchedule::kDualPipeV ? "DualPipeV"
                         : l.vpp > 1                                            ? "Interleaved1F1B"
                                                                                : "1F1B";
  if (l.pp > 1) s += fmt::format(" --parallelism.pipeline_parallel_schedule={}", schedule);
  s += " " + named("torchtitan",
                   {{"--micro-batch", l.pp > 1 ? l.batch.micro * l.micro_batches() : l.batch.micro},
                    {"--global-batch", l.batch.global},
                    {"--seq", l.batch.seq}},
                   '=');
  s += fmt::format(" {}={}", flag_of_program("torchtitan", "--recompute"), workload::name_of(l.recomputation.kind));
  if (l.pp > 1) s += fmt::format(" --parallelism.pipeline_parallel_microbatch_size={}", l.batch.micro);
  if (l.cp > 1)
    s += " " + words_of_program(kTorchtitan, "--set", std::string("layout.context=") + workload::name_of(l.context));
  if (l.precision == workload::Precision::kFp8) s += " --model.converters=float8";
  if (l.offload.optimizer && shards) s += " --training.enable_cpu_offload";
  std::string remarks;
  if (l.sharding.zero == 1) remark(remarks, "no flag for ZeRO-1");
  if (l.offload.optimizer)
    remark(remarks,
           shards ? "its offload keeps parameters in host memory too" : "offload of the optimizer needs ZeRO-2 or 3");
  if (l.offload.activations) remark(remarks, "no flag for offload of activations");
  if (l.schedule == workload::PipelineSchedule::kZbH1) remark(remarks, "no flag for schedule zb-h1");
  return {"torchtitan", s, remarks};
}

ProgramFlags deepspeed_config(const workload::LayoutSpec& l) {
  Json j{{"train_batch_size", l.batch.global},
         {"train_micro_batch_size_per_gpu", l.batch.micro},
         {"gradient_accumulation_steps", l.micro_batches()},
         {"zero_optimization", {{"stage", l.sharding.zero}}},
         {"bf16", {{"enabled", l.precision == workload::Precision::kBf16}}}};
  if (l.offload.optimizer && l.sharding.zero > 0)
    j["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  if (l.offload.activations)
    j["activation_checkpointing"] = {{"partition_activations", true}, {"cpu_checkpointing", true}};
  std::string remarks;
  if (l.tp > 1 || l.pp > 1 || l.cp > 1)
    remark(remarks, fmt::format("TP {}, PP {}, CP {} by the model", l.tp, l.pp, l.cp));
  if (l.offload.optimizer && l.sharding.zero == 0) remark(remarks, "offload of the optimizer needs ZeRO-1 to 3");
  if (l.offload.activations) remark(remarks, "of activations it offloads only the inputs of recomputed layers");
  return {"DeepSpeed", j.dump(), remarks};
}

ProgramFlags nemo_flags(const workload::ModelSpec& model, const workload::LayoutSpec& l) {
  std::string s = fmt::format(
      "trainer.strategy.tensor_model_parallel_size={} trainer.strategy.pipeline_model_parallel_size={} "
      "trainer.strategy.context_parallel_size={} trainer.strategy.sequence_parallel={}",
      l.tp, l.pp, l.cp, l.tp > 1 && l.sequence_parallel);
  if (l.vpp > 1) s += fmt::format(" trainer.strategy.virtual_pipeline_model_parallel_size={}", l.vpp);
  if (l.ep > 1) s += fmt::format(" trainer.strategy.expert_model_parallel_size={}", l.ep);
  s += fmt::format(" data.micro_batch_size={} data.global_batch_size={} data.seq_length={}", l.batch.micro,
                   l.batch.global, l.batch.seq);
  s += fmt::format(" trainer.strategy.ddp.use_distributed_optimizer={}", l.sharding.zero > 0);
  if (l.recomputation.kind == workload::Recompute::kSelective)
    s += fmt::format(" model.config.recompute_granularity=selective model.config.recompute_modules=[{}]",
                     megatron_modules(l.recomputation.modules, ','));
  if (l.recomputation.kind == workload::Recompute::kFull)
    s += " model.config.recompute_granularity=full model.config.recompute_method=uniform "
         "model.config.recompute_num_layers=1";
  if (l.offload.optimizer) s += " optim.config.optimizer_cpu_offload=true optim.config.optimizer_offload_fraction=1.0";
  if (l.offload.activations && whole_layers(l))
    s += fmt::format(
        " model.config.cpu_offloading=true model.config.cpu_offloading_num_layers={} "
        "model.config.cpu_offloading_weights=false",
        model.layers - 1);
  std::string remarks;
  if (l.offload.activations && !whole_layers(l))
    remark(remarks, "offload of activations needs PP 1 and no recomputation");
  if (l.schedule != workload::PipelineSchedule::k1F1B)
    remark(remarks, fmt::format("no flag for schedule {}", workload::name_of(l.schedule)));
  return {"NeMo", s, remarks};
}

const char* bridge_precision(workload::Precision precision) {
  if (precision == workload::Precision::kFp16) return "fp16_mixed";
  if (precision == workload::Precision::kFp8) return "bf16_with_fp8_current_scaling_mixed";
  return precision == workload::Precision::kFp4 ? "bf16_with_nvfp4_mixed" : "bf16_mixed";
}

/// Overrides of a recipe: whatever it sets itself is set here, too.
ProgramFlags bridge_flags(const workload::ModelSpec& model, const workload::LayoutSpec& l) {
  std::string s;
  const auto add = [&](std::string_view key, const auto& value) {
    s += fmt::format("{}{}={}", s.empty() ? "" : " ", key, value);
  };
  add("model.tensor_model_parallel_size", l.tp);
  add("model.pipeline_model_parallel_size", l.pp);
  add("model.context_parallel_size", l.cp);
  add("model.sequence_parallel", l.tp > 1 && l.sequence_parallel);
  if (l.vpp > 1 && even_stages(l)) add("model.virtual_pipeline_model_parallel_size", l.vpp);
  if (!even_stages(l))
    s += fmt::format(" 'model.pipeline_model_parallel_layout={}'", stage_words(l.split.chunk_layers, model.mtp));
  if (l.ep > 1) {
    add("model.expert_model_parallel_size", l.ep);
    add("model.expert_tensor_parallel_size", l.expert_tensor());
    add("model.moe_token_dispatcher_type",
        l.experts.exchange == workload::ExpertExchange::kAllToAll ? "alltoall" : "flex");
    add("model.moe_shared_expert_overlap", l.overlap.shared_experts);
  }
  add("train.micro_batch_size", l.batch.micro);
  add("train.global_batch_size", l.batch.global);
  add("dataset.sequence_length", l.batch.seq);
  add("mixed_precision", bridge_precision(l.precision));
  add("ddp.grad_reduce_in_fp32", l.exchange.gradient_bytes == 4);
  add("ddp.use_distributed_optimizer", l.sharding.zero > 0);
  add("ddp.overlap_grad_reduce", l.overlap.grad_reduce);
  add("comm_overlap.overlap_grad_reduce", l.overlap.grad_reduce);
  add("comm_overlap.overlap_param_gather", l.sharding.zero > 0 && l.overlap.param_gather);
  add("comm_overlap.tp_comm_overlap", l.tp > 1 && l.overlap.tp);
  const bool full = l.recomputation.kind == workload::Recompute::kFull;
  const bool none = l.recomputation.kind == workload::Recompute::kNone;
  add("model.recompute_granularity", none ? "null" : workload::name_of(l.recomputation.kind));
  if (!none && !full) add("model.recompute_modules", "[" + megatron_modules(l.recomputation.modules, ',') + "]");
  if (full) s += " model.recompute_method=uniform model.recompute_num_layers=1";
  if (l.cuda_graphs) add("model.cuda_graph_impl", "transformer_engine");
  if (l.offload.optimizer) s += " optimizer.optimizer_cpu_offload=true optimizer.optimizer_offload_fraction=1.0";
  std::string remarks;
  if (l.cp > 1 && l.context != workload::ContextParallel::kRing)
    s += fmt::format(" model.cp_comm_type={}",
                     words_of_program(kMegatron, "--set", std::string("layout.context=") + workload::name_of(l.context))
                         .substr(std::string_view("--cp-comm-type ").size()));
  if (l.offload.activations) remark(remarks, "offload of activations needs its own guide");
  if (l.schedule != workload::PipelineSchedule::k1F1B)
    remark(remarks, fmt::format("no key for schedule {}", workload::name_of(l.schedule)));
  return {"Megatron-Bridge", s, remarks};
}

/// The remat_policy that keeps what the layout keeps; empty: none does.
const char* maxtext_policy(const workload::LayoutSpec& l) {
  if (l.recomputation.kind == workload::Recompute::kFull) return "full";
  if (l.recomputation.kind == workload::Recompute::kNone) return "none";
  const workload::RecomputeModules& m = l.recomputation.modules;
  if (m.mla_up_proj || !m.layernorm) return "";
  if (m.mlp && !m.act) return m.core_attn ? "save_dot_except_mlp" : "save_dot_with_context_except_mlp";
  return m.mlp || !m.act ? "" : m.core_attn ? "minimal" : "minimal_with_context";
}

/// An axis over the chips of a domain first, then over domains.
void add_axis(const char* name, std::uint32_t degree, std::uint32_t& left, std::string& s) {
  const std::uint32_t inside = std::gcd(degree, left), across = degree / inside;
  left /= inside;
  if (inside > 1 || std::string_view(name) == "fsdp") s += fmt::format(" ici_{}_parallelism={}", name, inside);
  if (across > 1 || std::string_view(name) == "data") s += fmt::format(" dcn_{}_parallelism={}", name, across);
}

ProgramFlags maxtext_flags(const workload::LayoutSpec& l, std::uint32_t domain) {
  std::string s = "python3 -m maxtext.trainers.pre_train.train src/maxtext/configs/base.yml", remarks;
  const bool shards = l.sharding.zero >= 2;
  std::uint32_t left = std::max(1u, domain);
  const std::uint32_t replicas = l.dp / std::max(1u, l.ep);
  add_axis("tensor", l.tp, left, s);
  add_axis("context", l.cp, left, s);
  add_axis("expert", l.ep, left, s);
  add_axis("fsdp", shards ? replicas : 1, left, s);
  add_axis("data", shards ? 1 : replicas, left, s);
  if (l.sharding.zero == 1) s += " shard_optimizer_over_data=true";
  s += fmt::format(" per_device_batch_size={:.9g} gradient_accumulation_steps={} max_target_length={}",
                   static_cast<double>(l.batch.micro) / (l.tp * l.cp), l.micro_batches(), l.batch.seq);
  s += fmt::format(" remat_policy={}", maxtext_policy(l));
  if (l.cp > 1)
    s += fmt::format(" context_parallel_strategy={}", l.context == workload::ContextParallel::kAllToAll ? "ulysses"
                                                      : l.context == workload::ContextParallel::kRing   ? "ring"
                                                                                                        : "all_gather");
  if (l.precision == workload::Precision::kFp8 || l.precision == workload::Precision::kInt8)
    s += fmt::format(" quantization={}", workload::name_of(l.precision));
  if (l.exchange.gradient_bytes == 2) s += " grad_dtype=bfloat16";
  if (l.offload.optimizer) s += " optimizer_memory_host_offload=true";
  if (l.ep > 1 && (l.expert_tensor() != l.tp || l.dp % l.ep != 0)) remark(remarks, "its experts are cut over TP, too");
  if (l.offload.activations) remark(remarks, "offload of activations by a policy of its own");
  if (l.precision == workload::Precision::kFp4) remark(remarks, "fp4 by Transformer Engine only");
  return {std::string(kMaxText), s, remarks};
}

/// What no program's flags here say of what is trained.
std::string trained_remark(const workload::LayoutSpec& l) {
  std::string what;
  if (l.adapters.any()) append_word(what, "adapters");
  if (l.optimizer.kind != workload::OptimizerKind::kAdamW) append_word(what, workload::name_of(l.optimizer.kind));
  if (l.optimizer.moments != workload::MomentKind::kFp32)
    append_word(what, std::string("moments in ") + workload::name_of(l.optimizer.moments));
  if (!l.batch.documents.empty()) append_word(what, "packed documents");
  return what.empty() ? "" : "without " + what + ": set them in the recipe";
}

}  // namespace

std::vector<ProgramFlags> framework_flags(const workload::ModelSpec& model, const workload::LayoutSpec& l,
                                          std::uint32_t domain) {
  std::vector<ProgramFlags> out{megatron_flags(model, l), bridge_flags(model, l), torchtitan_flags(l),
                                deepspeed_config(l),      nemo_flags(model, l),   maxtext_flags(l, domain)};
  if (const std::string trained = trained_remark(l); !trained.empty())
    for (ProgramFlags& program : out) remark(program.remark, trained);
  return out;
}

}  // namespace busbar::questions
