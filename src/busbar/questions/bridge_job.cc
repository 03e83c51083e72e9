// Sources: NVIDIA-NeMo/Megatron-Bridge @067f987, docs/megatron-lm-to-megatron-bridge.md (keys and flags),
// src/megatron/bridge/training/mixed_precision.py and comm_overlap.py (what they set); whole configurations:
// scripts/performance/dryrun_configs @a9497c6.
#include "busbar/questions/internal/bridge_job.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

#include "busbar/base/text.h"
#include "busbar/questions/internal/config_words.h"
#include "busbar/questions/internal/job_keys.h"

namespace busbar::questions {
namespace {

using formats::ScriptCommand;
using formats::ScriptWord;

/// Of several keys for one flag the last counts.
constexpr ConfigKey kBridgeValues[] = {
    {"model.seq_length", "seq-length"},
    {"dataset.sequence_length", "seq-length"},
    {"dataset.seq_length", "seq-length"},
    {"train.micro_batch_size", "micro-batch-size"},
    {"train.global_batch_size", "global-batch-size"},
    {"model.tensor_model_parallel_size", "tensor-model-parallel-size"},
    {"model.pipeline_model_parallel_size", "pipeline-model-parallel-size"},
    {"model.virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
    {"model.pipeline_model_parallel_layout", "pipeline-model-parallel-layout"},
    {"model.num_layers_in_first_pipeline_stage", "decoder-first-pipeline-num-layers"},
    {"model.num_layers_in_last_pipeline_stage", "decoder-last-pipeline-num-layers"},
    {"model.context_parallel_size", "context-parallel-size"},
    {"model.cp_comm_type", "cp-comm-type"},
    {"model.expert_model_parallel_size", "expert-model-parallel-size"},
    {"model.expert_tensor_parallel_size", "expert-tensor-parallel-size"},
    {"model.attention_backend", "attention-backend"},
    {"model.num_layers", "num-layers"},
    {"model.hidden_size", "hidden-size"},
    {"model.ffn_hidden_size", "ffn-hidden-size"},
    {"model.num_attention_heads", "num-attention-heads"},
    {"model.num_query_groups", "num-query-groups"},
    {"model.kv_channels", "kv-channels"},
    {"model.vocab_size", "vocab-size"},
    {"model.mtp_num_layers", "mtp-num-layers"},
    {"model.q_lora_rank", "q-lora-rank"},
    {"model.kv_lora_rank", "kv-lora-rank"},
    {"model.qk_head_dim", "qk-head-dim"},
    {"model.qk_pos_emb_head_dim", "qk-pos-emb-head-dim"},
    {"model.v_head_dim", "v-head-dim"},
    {"model.recompute_granularity", "recompute-granularity"}};
/// Read only for models with experts, or for layouts of them.
constexpr ConfigKey kBridgeExperts[] = {
    {"model.num_moe_experts", "num-experts"},
    {"model.moe_router_topk", "moe-router-topk"},
    {"model.moe_ffn_hidden_size", "moe-ffn-hidden-size"},
    {"model.moe_router_group_topk", "moe-router-group-topk"},
    {"model.moe_shared_expert_intermediate_size", "moe-shared-expert-intermediate-size"},
    {"model.moe_expert_capacity_factor", "moe-expert-capacity-factor"},
    {"model.moe_token_dispatcher_type", "moe-token-dispatcher-type"}};
/// Keys that are true or false.
constexpr ConfigKey kBridgeSwitches[] = {
    {"model.sequence_parallel", "sequence-parallel"},
    {"model.qk_layernorm", "qk-layernorm"},
    {"model.multi_latent_attention", "multi-latent-attention"},
    {"model.gated_linear_unit", "swiglu"},
    {"model.account_for_embedding_in_pipeline_split", "account-for-embedding-in-pipeline-split"},
    {"model.account_for_loss_in_pipeline_split", "account-for-loss-in-pipeline-split"},
    {"model.fine_grained_activation_offloading", "fine-grained-activation-offloading"},
    {"model.moe_shared_expert_overlap", "moe-shared-expert-overlap"},
    {"model.enable_cuda_graph", "enable-cuda-graph"},
    {"model.external_cuda_graph", "external-cuda-graph"},
    {"mixed_precision.fp8_param_gather", "fp8-param-gather"},
    {"optimizer.optimizer_cpu_offload", "optimizer-cpu-offload"},
    {"dist.use_tp_pp_dp_mapping", "use-tp-pp-dp-mapping"},
    {"dist.use_torch_fsdp2", "use-torch-fsdp2"}};

/// Maps, and beginnings of keys, that concern no step as it is modelled here, or that BridgeConfig reads itself.
constexpr std::string_view kBridgeTables[] = {"checkpoint.",
                                              "logger.",
                                              "profiling.",
                                              "rng.",
                                              "scheduler.",
                                              "tokenizer.",
                                              "validation.",
                                              "dist.",
                                              "optimizer.",
                                              "train.",
                                              "dataset.",
                                              "mixed_precision.",
                                              "comm_overlap.",
                                              "ddp.",
                                              "rerun_state_machine.",
                                              "optimizer_config_override_provider.",
                                              "model.tp_comm_",
                                              "model.fp8_",
                                              "model.fp4_",
                                              "model.moe_router_",
                                              "model.moe_z_loss",
                                              "model.yarn_",
                                              "model.cuda_graph_",
                                              "model.cpu_offloading",
                                              "model.inference_",
                                              "model.num_layers_at_",
                                              "model.recompute_",
                                              "model.mscale",
                                              "model.mup_",
                                              "model.rotary_",
                                              "model.moe_aux_",
                                              "model.moe_permute",
                                              "model.moe_hybridep_",
                                              "model.moe_deepep_",
                                              "model.moe_flex_",
                                              "model.moe_token_drop",
                                              "model.cross_entropy_",
                                              "model.init_",
                                              "model.bias_",
                                              "model.no_",
                                              "model.beta_",
                                              "model.layernorm_",
                                              "model.rope_",
                                              "model.qk_clip",
                                              "model.num_moe_experts",
                                              "model.moe_per_layer_",
                                              "model.mtp_loss_",
                                              "perf_matrix.",
                                              "rerun_",
                                              "model.linear_",
                                              "model.mamba_",
                                              "model.dsa_indexer_",
                                              "model.generation_config"};
constexpr std::string_view kBridgeKeys[] = {"mixed_precision",
                                            "model.activation_func",
                                            "model.apply_query_key_layer_scaling",
                                            "model.attention_dropout",
                                            "model.attention_softmax_in_fp32",
                                            "model.batch_p2p_comm",
                                            "model.bf16",
                                            "model.deallocate_pipeline_outputs",
                                            "model.fp16",
                                            "model.fp8",
                                            "model.gradient_accumulation_fusion",
                                            "model.hf_model_id",
                                            "model.hidden_dropout",
                                            "model.kitchen_attention_backend",
                                            "model.make_vocab_size_divisible_by",
                                            "model.memory_efficient_layer_norm",
                                            "model.mla_down_proj_fusion",
                                            "model.mlp_chunks_for_prefill",
                                            "model.moe_enable_deepep",
                                            "model.moe_grouped_gemm",
                                            "model.moe_layer_freq",
                                            "model.overlap_moe_expert_parallel_comm",
                                            "model.overlap_p2p_comm",
                                            "model.parallel_output",
                                            "model.persist_layer_norm",
                                            "model.position_embedding_type",
                                            "model.scatter_embedding_sequence_parallel",
                                            "model.share_embeddings_and_output_weights",
                                            "model.should_pad_vocab"};

/// "model.tp" of "model_config.tp", as the first releases wrote it.
std::string without_config(const std::string& key) {
  const std::size_t dot = std::min(key.find('.'), key.size()), end = std::min(key.find("_config."), dot);
  return key.substr(0, end) + key.substr(dot);
}

/// "[0]*3+[1]*58" of "0 0 0 1 1 ...": layers without experts, then layers with them.
std::string layer_kinds_text(const std::string& list) {
  const auto zeros = std::count(list.begin(), list.end(), '0'), ones = std::count(list.begin(), list.end(), '1');
  const bool in_order = list.rfind('0') == std::string::npos || list.rfind('0') < list.find('1');
  const bool only = list.find_first_not_of("01 ") == std::string::npos;
  if (list.find(' ') == std::string::npos || !only || !in_order) return list;
  return zeros == 0 ? "1" : "[0]*" + std::to_string(zeros) + "+[1]*" + std::to_string(ones);
}

class BridgeConfig {
 public:
  BridgeConfig(Scalars keys, std::string file) : file_(std::move(file)) {
    for (auto& [key, word] : keys)
      if (key.find("._") == std::string::npos && key[0] != '_') keys_[without_config(key)] = std::move(word);
    std::erase_if(keys_, [](const auto& k) { return k.first.starts_with("perf_matrix."); });
  }

  Result<ScriptCommand> words() {
    for (const auto& [key, flag] : kBridgeValues) words_.value(flag, keys_, key);
    for (const auto& [key, flag] : kBridgeSwitches)
      if (is_true(text(key))) words_.add(flag, line(key));
    BUSBAR_RETURN_IF_ERROR(precision());
    experts();
    recompute();
    shards();
    overlaps();
    meanings();
    optimizer();
    others();
    return std::move(words_.out);
  }

 private:
  std::string text(std::string_view key) const { return text_of(keys_, key); }
  int line(std::string_view key) const { return line_of(keys_, key); }
  /// The line of the first key of a map that has a value; 0: it has none.
  int line_of_table(std::string_view table) const {
    int first = 0;
    for (const auto& [key, word] : keys_)
      if (key.starts_with(table) && !is_nothing(word.text) && (first == 0 || word.line < first)) first = word.line;
    return first;
  }
  bool has_table(std::string_view table) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const auto& k) { return k.first.starts_with(table); });
  }

  /// A name of mixed_precision.py, or its fields. Every recipe has bf16_mixed unless it is overridden.
  Status precision() {
    const std::string name = text("mixed_precision"), fp8 = text("mixed_precision.fp8");
    const int at = std::max(line("mixed_precision"), line("mixed_precision.bf16"));
    const auto says = [&](const char* word) { return name.find(word) != std::string::npos; };
    if (!name.empty() && !says("mixed"))
      return invalid("'" + name + "' is no name of its mixed precision; write bf16_mixed or the like",
                     {file_, at, 0, "mixed_precision"});
    const bool fp16 = says("fp16_") || is_true(text("mixed_precision.fp16"));
    words_.add(fp16 ? "fp16" : "bf16", at);
    if (says("fp8"))
      words_.add_with("fp8-format", "hybrid", at);
    else if (!is_nothing(fp8))
      words_.add_with("fp8-format", fp8, line("mixed_precision.fp8"));
    if (says("nvfp4") || !is_nothing(text("mixed_precision.fp4"))) words_.add_with("fp4-format", "e2m1", at);
    const std::string in_fp32 = text("mixed_precision.grad_reduce_in_fp32").empty()
                                    ? text("ddp.grad_reduce_in_fp32")
                                    : text("mixed_precision.grad_reduce_in_fp32");
    const bool short_gradients = in_fp32.empty() ? fp16 : !is_true(in_fp32);
    words_.add(short_gradients ? "grad-reduce-in-bf16" : "accumulate-allreduce-grads-in-fp32", at);
    return {};
  }

  void experts() {
    const bool exchanges = !is_nothing(text("model.num_moe_experts")) || line("model.moe_token_dispatcher_type") > 0;
    if (!exchanges || text("model.moe_token_dispatcher_type") == "allgather") return;
    for (const auto& [key, flag] : kBridgeExperts) words_.value(flag, keys_, key);
    if (is_true(text("model.moe_enable_deepep"))) words_.add("moe-enable-deepep", line("model.moe_enable_deepep"));
    if (is_nothing(text("model.moe_layer_freq")) || is_nothing(text("model.num_moe_experts"))) return;
    words_.add_with("moe-layer-freq", layer_kinds_text(text("model.moe_layer_freq")), line("model.moe_layer_freq"));
  }

  /// Without a kind the number of layers says nothing.
  void recompute() {
    if (is_nothing(text("model.recompute_granularity"))) return;
    words_.value("recompute-method", keys_, "model.recompute_method");
    words_.value("recompute-num-layers", keys_, "model.recompute_num_layers");
    std::string modules = text("model.recompute_modules");
    if (is_nothing(modules)) return;
    std::replace_if(
        modules.begin(), modules.end(), [](char c) { return c == ',' || c == '[' || c == ']'; }, ' ');
    words_.add("recompute-modules", line("model.recompute_modules"));
    for (const std::string_view module : split_at(modules, ' '))
      if (!module.empty()) words_.out.push_back({std::string(module), line("model.recompute_modules"), "", 0});
  }

  bool shards_optimizer() const {
    return is_true(text("ddp.use_distributed_optimizer")) || is_true(text("optimizer.use_distributed_optimizer"));
  }

  void shards() {
    if (shards_optimizer()) words_.add("use-distributed-optimizer", line("ddp.use_distributed_optimizer"));
    if (is_true(text("optimizer.optimizer_cpu_offload")))
      words_.value("optimizer-offload-fraction", keys_, "optimizer.optimizer_offload_fraction");
    if (!is_true(text("ddp.use_megatron_fsdp")) && !is_true(text("dist.use_megatron_fsdp"))) return;
    words_.add("use-megatron-fsdp", line("ddp.use_megatron_fsdp"));
    words_.value("data-parallel-sharding-strategy", keys_, "ddp.data_parallel_sharding_strategy");
  }

  /// What comm_overlap.py decides where its map is there and does not say.
  bool overlaps(std::string_view key, std::string_view otherwise, bool decided) const {
    const std::string own = text("comm_overlap." + std::string(key));
    if (!own.empty() && own != "null") return is_true(own);
    return has_table("comm_overlap.") ? decided : is_true(text(std::string(otherwise) + std::string(key)));
  }

  void overlaps() {
    const int at = line_of_table("comm_overlap.");
    const bool data = shards_optimizer();
    if (data ? overlaps("overlap_grad_reduce", "ddp.", true) : is_true(text("ddp.overlap_grad_reduce")))
      words_.add("overlap-grad-reduce", at);
    if (data ? overlaps("overlap_param_gather", "ddp.", true) : is_true(text("ddp.overlap_param_gather")))
      words_.add("overlap-param-gather", at);
    if (overlaps("tp_comm_overlap", "model.", false)) words_.add("tp-comm-overlap", at);
    if (overlaps("overlap_moe_expert_parallel_comm", "model.", false))
      words_.add("overlap-moe-expert-parallel-comm", at);
    const std::string blocking = text("comm_overlap.overlap_p2p_comm");
    const bool says = !blocking.empty() && blocking != "null";
    if (says ? !is_true(blocking) : !has_table("comm_overlap.") && text("model.overlap_p2p_comm") == "false")
      words_.add("no-overlap-p2p-communication", line("model.overlap_p2p_comm"));
  }

  void meanings() {
    if (text("model.share_embeddings_and_output_weights") == "false")
      words_.add("untie-embeddings-and-output-weights", line("model.share_embeddings_and_output_weights"));
    if (!is_nothing(text("model.num_query_groups")))
      words_.add("group-query-attention", line("model.num_query_groups"));
    if (text("model.should_pad_vocab") == "false")
      words_.add_with("make-vocab-size-divisible-by", "1", line("model.should_pad_vocab"));
    else
      words_.value("make-vocab-size-divisible-by", keys_, "model.make_vocab_size_divisible_by");
    const std::string graphs = text("model.cuda_graph_impl");
    if (!is_nothing(graphs) && graphs != "none") words_.add("enable-cuda-graph", line("model.cuda_graph_impl"));
    if (is_true(text("model.cpu_offloading")))
      words_.value("cpu-offloading-num-layers", keys_, "model.cpu_offloading_num_layers");
  }

  void optimizer() {
    words_.value("optimizer", keys_, "optimizer.optimizer");
    words_.value("exp-avg-dtype", keys_, "optimizer.exp_avg_dtype");
    words_.value("exp-avg-sq-dtype", keys_, "optimizer.exp_avg_sq_dtype");
  }

  void others() {
    for (const auto& [key, word] : keys_) {
      const auto is_read = [&, name = std::string_view(key)](std::span<const ConfigKey> keys) {
        return std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.key == name; });
      };
      if (is_nothing(word.text) || is_read(kBridgeValues) || is_read(kBridgeExperts) || is_read(kBridgeSwitches) ||
          is_listed(key, kBridgeTables, kBridgeKeys))
        continue;
      words_.out.push_back({"--" + key + "=" + word.text, word.line, "", 0});
    }
  }

  std::string file_;
  Scalars keys_;
  FlagWords words_;
};

/// "model.x" of "model.x=8" and "+model.x=8"; empty: the word is no override.
std::string override_key(const std::string& word) {
  const std::size_t first = std::min(word.find_first_not_of('+'), word.size()), equals = word.find('=');
  if (equals == std::string::npos || equals <= first) return "";
  std::string key = word.substr(first, equals - first);
  constexpr std::string_view kMaps[] = {
      "model.",      "train.",           "ddp.",    "dataset.",   "comm_overlap.", "optimizer.",  "peft.",      "dist.",
      "checkpoint.", "mixed_precision.", "logger.", "profiling.", "scheduler.",    "validation.", "tokenizer.", "rng."};
  const bool known = key == "mixed_precision" ||
                     std::any_of(std::begin(kMaps), std::end(kMaps), [&](auto map) { return key.starts_with(map); });
  return known ? key : "";
}

}  // namespace

bool is_bridge(std::string_view text) {
  const auto has_line = [&](std::string_view key) {
    for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1))
      if (at == 0 || text[at - 1] == '\n') return true;
    return false;
  };
  const bool parts = (has_line("model:") || has_line("model_config:")) &&
                     (has_line("train:") || has_line("train_config:")) && !has_line("trainer:");
  return parts || has_line("ConfigContainer:");
}

Result<ScriptCommand> bridge_words(const YamlNode& root, const std::string& file) {
  const YamlNode config = root.find("ConfigContainer").value_or(root);
  Scalars keys;
  add_scalars(config, "", keys);
  add_lists(config, "", keys);
  return BridgeConfig(std::move(keys), file).words();
}

Result<std::optional<ScriptCommand>> bridge_command(const ScriptCommand& command, const std::string& file) {
  Scalars keys;
  ScriptCommand rest;
  for (const ScriptWord& w : command) {
    const std::string key = override_key(w.text);
    if (key.empty()) {
      rest.push_back(w);
      continue;
    }
    ScriptWord value = w;
    value.text = w.text.substr(w.text.find('=') + 1);
    keys[key] = std::move(value);
  }
  const bool of_nemo = std::any_of(command.begin(), command.end(), [](const ScriptWord& w) {
    return w.text.starts_with("trainer.") || w.text.starts_with("+trainer.");
  });
  const bool of_model =
      std::any_of(keys.begin(), keys.end(), [](const auto& k) { return k.first.starts_with("model."); });
  if (of_nemo || !of_model) return std::optional<ScriptCommand>();
  BUSBAR_ASSIGN(const ScriptCommand flags, BridgeConfig(std::move(keys), file).words());
  rest.insert(rest.end(), flags.begin(), flags.end());
  return std::optional(std::move(rest));
}

}  // namespace busbar::questions
