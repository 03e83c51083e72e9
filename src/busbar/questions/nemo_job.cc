// Sources: NVIDIA/NeMo examples/nlp/language_modeling/conf/megatron_gpt_config.yaml (keys and their defaults) and
// nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py (what they become in Megatron-core).
#include "busbar/questions/internal/nemo_job.h"

#include <algorithm>
#include <span>
#include <utility>

#include "busbar/base/text.h"
#include "busbar/questions/internal/config_words.h"
#include "busbar/questions/internal/job_keys.h"

namespace busbar::questions {
namespace {

using formats::ScriptCommand;
using formats::ScriptWord;

/// Keys of `model` that take what the flag takes.
constexpr ConfigKey kValues[] = {{"micro_batch_size", "micro-batch-size"},
                                 {"global_batch_size", "global-batch-size"},
                                 {"tensor_model_parallel_size", "tensor-model-parallel-size"},
                                 {"pipeline_model_parallel_size", "pipeline-model-parallel-size"},
                                 {"virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
                                 {"context_parallel_size", "context-parallel-size"},
                                 {"expert_model_parallel_size", "expert-model-parallel-size"},
                                 {"encoder_seq_length", "seq-length"},
                                 {"num_layers", "num-layers"},
                                 {"hidden_size", "hidden-size"},
                                 {"ffn_hidden_size", "ffn-hidden-size"},
                                 {"num_attention_heads", "num-attention-heads"},
                                 {"num_query_groups", "num-query-groups"},
                                 {"kv_channels", "kv-channels"},
                                 {"override_vocab_size", "vocab-size"},
                                 {"make_vocab_size_divisible_by", "make-vocab-size-divisible-by"},
                                 {"activations_checkpoint_granularity", "recompute-granularity"},
                                 {"activations_checkpoint_method", "recompute-method"},
                                 {"num_moe_experts", "num-experts"},
                                 {"moe_router_topk", "moe-router-topk"},
                                 {"moe_ffn_hidden_size", "moe-ffn-hidden-size"},
                                 {"moe_expert_capacity_factor", "moe-expert-capacity-factor"},
                                 {"moe_token_dispatcher_type", "moe-token-dispatcher-type"}};
/// Keys that are true or false.
constexpr ConfigKey kSwitches[] = {
    {"sequence_parallel", "sequence-parallel"},         {"ub_tp_comm_overlap", "tp-comm-overlap"},
    {"use_flash_attention", "use-flash-attn"},          {"fp8_params", "fp8-param-gather"},
    {"optim.overlap_grad_sync", "overlap-grad-reduce"}, {"optim.overlap_param_sync", "overlap-param-gather"}};

/// Keys of `model` without effect on a step as it is modelled here; and those that read_model() looks at.
/// Keys that begin with the name of a switch matter with it alone, and the switch is a key of its own.
constexpr std::string_view kTables[] = {
    "data.",   "tokenizer.", "optim.", "nsys_profile.", "fp8_",  "ub_tp_comm_overlap_cfg", "tp_comm", "memory_profile.",
    "native_", "gc_",        "apply_", "init_method",   "fsdp_", "cpu_offloading_"};
constexpr std::string_view kKeys[] = {"mcore_gpt",
                                      "get_attention_mask_from_fusion",
                                      "qkv_bias",
                                      "sharp",
                                      "precision",
                                      "moe_aux_loss_coeff",
                                      "moe_z_loss_coeff",
                                      "moe_grouped_gemm",
                                      "moe_router_load_balancing_type",
                                      "moe_pad_expert_input_to_capacity",
                                      "moe_token_drop_policy",
                                      "max_position_embeddings",
                                      "use_scaled_init_method",
                                      "hidden_dropout",
                                      "attention_dropout",
                                      "ffn_dropout",
                                      "normalization",
                                      "layernorm_epsilon",
                                      "layernorm_zero_centered_gamma",
                                      "do_layer_norm_weight_decay",
                                      "pre_process",
                                      "post_process",
                                      "persist_layer_norm",
                                      "bias",
                                      "activation",
                                      "headscale",
                                      "transformer_block_type",
                                      "normalize_attention_scores",
                                      "position_embedding_type",
                                      "rotary_percentage",
                                      "rotary_base",
                                      "attention_type",
                                      "share_embeddings_and_output_weights",
                                      "hysteresis",
                                      "megatron_amp_O2",
                                      "grad_allreduce_chunk_size_mb",
                                      "grad_div_ar_fusion",
                                      "gradient_accumulation_fusion",
                                      "bias_activation_fusion",
                                      "bias_dropout_add_fusion",
                                      "masked_softmax_fusion",
                                      "seed",
                                      "resume_from_checkpoint",
                                      "apex_transformer_log_level",
                                      "gradient_as_bucket_view",
                                      "activations_checkpoint_num_layers",
                                      "transformer_engine",
                                      "transformer_layer_spec",
                                      "fp8",
                                      "name",
                                      "overlap_p2p_comm",
                                      "batch_p2p_comm",
                                      "log_train_loss",
                                      "wandb_name"};

/// "4096" for "${.encoder_seq_length}" and "${model.encoder_seq_length}", and for products of such,
/// "${multiply:4, ${.hidden_size}}". Empty: it is something else.
std::string referred(const std::string& text, const Scalars& model) {
  if (!text.starts_with("${") || !text.ends_with("}")) return text.find("${") == std::string::npos ? text : "";
  std::string inner = text.substr(2, text.size() - 3);
  if (inner.starts_with("multiply:")) {
    const std::size_t comma = inner.find(',');
    if (comma == std::string::npos) return "";
    std::int64_t product = 1;
    for (std::string factor : {inner.substr(9, comma - 9), inner.substr(comma + 1)}) {
      std::int64_t n = 0;
      std::erase(factor, ' ');
      if (!is_number(referred(factor, model), n) || n < 1 || n > 1 << 20) return "";
      product *= n;
    }
    return std::to_string(product);
  }
  for (const std::string_view prefix : {".", "model.", "training.model."})
    if (inner.starts_with(prefix)) {
      const auto at = model.find(inner.substr(prefix.size()));
      return at == model.end() || at->second.text.find("${") != std::string::npos ? "" : at->second.text;
    }
  return "";
}

class NemoFile {
 public:
  NemoFile(const YamlNode& root, std::string file) : file_(std::move(file)) {
    for (const auto& [table, into] : {std::pair("trainer", &trainer_), std::pair("model", &model_)})
      if (const auto map = root.find(table)) add_scalars(*map, "", *into);
    if (const auto model = root.find("model"))
      if (const auto peft = model->find("peft"); peft && peft->kind() == YamlNode::Kind::kMap)
        add_lists(*peft, "peft.", model_);
    const Scalars as_written = model_;
    for (auto& [key, word] : model_)
      if (const std::string found = referred(word.text, as_written); !word.unknown.empty() && !found.empty())
        word.text = found, word.unknown.clear();
  }

  Result<ScriptCommand> words() {
    words_.value("nproc-per-node", trainer_, "devices");
    words_.value("nnodes", trainer_, "num_nodes");
    BUSBAR_RETURN_IF_ERROR(precision());
    for (const auto& [key, flag] : kValues) words_.value(flag, model_, key);
    for (const auto& [key, flag] : kSwitches)
      if (is_true(text_of(model_, key))) words_.add(flag, line_of(model_, key));
    recompute();
    meanings();
    others();
    return std::move(words_.out);
  }

 private:
  Status precision() {
    const std::string word = text_of(trainer_, "precision");
    const int at = line_of(trainer_, "precision");
    if (word.starts_with("bf16"))
      words_.add("bf16", at);
    else if (word.starts_with("16"))
      words_.add("fp16", at), words_.add("accumulate-allreduce-grads-in-fp32", at);
    else if (!word.empty())
      return invalid("'" + word + "' is not one of bf16, bf16-mixed, 16, 16-mixed",
                     {file_, at, 0, "trainer.precision"});
    if (!is_true(text_of(model_, "fp8"))) return {};
    words_.add_with("fp8-format", is_true(text_of(model_, "fp8_e4m3")) ? "e4m3" : "hybrid", line_of(model_, "fp8"));
    return {};
  }

  /// Without a kind the number of layers says nothing.
  void recompute() {
    if (is_nothing(text_of(model_, "activations_checkpoint_granularity"))) return;
    words_.value("recompute-num-layers", model_, "activations_checkpoint_num_layers");
  }

  void meanings() {
    if (text_of(model_, "activation").ends_with("glu")) words_.add("swiglu", line_of(model_, "activation"));
    if (const std::string tied = text_of(model_, "share_embeddings_and_output_weights");
        tied == "false" || tied == "False")
      words_.add("untie-embeddings-and-output-weights", line_of(model_, "share_embeddings_and_output_weights"));
    if (!is_nothing(text_of(model_, "num_query_groups")))
      words_.add("group-query-attention", line_of(model_, "num_query_groups"));
    if (text_of(model_, "optim.name").find("distributed") != std::string::npos)
      words_.add("use-distributed-optimizer", line_of(model_, "optim.name"));
    if (text_of(model_, "optim.grad_sync_dtype") == "bf16")
      words_.add("grad-reduce-in-bf16", line_of(model_, "optim.grad_sync_dtype"));
    if (!is_true(text_of(model_, "overlap_p2p_comm")))
      words_.add("no-overlap-p2p-communication", line_of(model_, "overlap_p2p_comm"));
    const std::string_view tokenizer =
        is_nothing(text_of(model_, "tokenizer.type")) ? "tokenizer.library" : "tokenizer.type";
    words_.value("tokenizer-type", model_, tokenizer);
  }

  void others() {
    for (const auto& [key, word] : model_) {
      const auto is_read = [&, name = std::string_view(key)](std::span<const ConfigKey> keys) {
        return std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.key == name; });
      };
      if (is_nothing(word.text) || is_read(kValues) || is_read(kSwitches) || is_listed(key, kTables, kKeys)) continue;
      words_.out.push_back({"--model." + key + "=" + word.text, word.line, "", 0});
    }
  }

  std::string file_;
  Scalars trainer_, model_;
  FlagWords words_;
};

}  // namespace

bool is_nemo(std::string_view text) {
  const auto has_line = [&](std::string_view key) {
    for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1))
      if (at == 0 || text[at - 1] == '\n') return true;
    return false;
  };
  return has_line("trainer:") && has_line("model:");
}

Result<ScriptCommand> nemo_words(const YamlNode& root, const std::string& file) { return NemoFile(root, file).words(); }

}  // namespace busbar::questions
