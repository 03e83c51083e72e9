#include "busbar/spec/internal/hugging_face_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "busbar/base/text.h"
#include "busbar/workload/model.h"

namespace busbar::spec {
namespace {

bool has_value(const std::optional<YamlNode>& node) { return node && node->kind() != YamlNode::Kind::kNull; }

/// Keys that change neither sizes nor work: initial values, tokens, scales of outputs, routing scores, generation.
constexpr const char* kHarmless[] = {
    "_attn_implementation_autoset",
    "_name_or_path",
    "activation_situ_beta",
    "activation_situ_linear_beta",
    "add_cross_attention",
    "add_full_attention_sink_bias",
    "add_swa_attention_sink_bias",
    "alibi",
    "architectures",
    "attention_bias",
    "attention_chunk_size",
    "attention_dropout",
    "attention_in_multiplier",
    "attention_multiplier",
    "attention_out_multiplier",
    "attention_probs_dropout_prob",
    "attention_value_scale",
    "attn_logit_softcapping",
    "attn_pdrop",
    "attn_res_block_size",
    "attn_temperature_tuning",
    "auto_map",
    "aux_loss_alpha",
    "bad_words_ids",
    "begin_suppress_tokens",
    "block_dim",
    "block_mlp_init_scale",
    "block_norm_eps",
    "block_out_init_scale",
    "block_use_swiglu",
    "block_use_xma_default",
    "bos_token_id",
    "chunk_size_feed_forward",
    "clip_qkv",
    "compress_rope_theta",
    "conv_bias",
    "conv_dim",
    "conv_dim_out",
    "conv_use_xma_default",
    "cross_attention_hidden_size",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_layer_norm_before",
    "do_sample",
    "dtype",
    "early_stopping",
    "embd_pdrop",
    "embedding_multiplier",
    "enable_expert_tensor_parallelism",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "ep_size",
    "expand",
    "expert_dtype",
    "exponential_decay_length_penalty",
    "final_logit_softcapping",
    "finetuning_task",
    "floor_scale",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "hc_eps",
    "hc_mult",
    "hc_sinkhorn_iters",
    "hidden_act",
    "hidden_activation",
    "hidden_dropout",
    "hidden_dropout_prob",
    "id2label",
    "index_share_for_mtp_iteration",
    "index_skip_topk_offset",
    "index_topk_freq",
    "index_topk_pattern",
    "indexer_rope_interleave",
    "initial_context_length",
    "initializer_range",
    "is_decoder",
    "is_encoder_decoder",
    "key_multiplier",
    "label2id",
    "latent_moe_use_norm",
    "layer_norm_elementwise_affine",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "layernorm_epsilon",
    "length_penalty",
    "lm_head_multiplier",
    "logit_scale",
    "logits_scaling",
    "mamba_conv_bias",
    "mamba_d_ssm",
    "mamba_dt_rank",
    "mamba_expand",
    "mamba_hidden_act",
    "mamba_norm_before_gate",
    "mamba_proj_bias",
    "mamba_rms_norm",
    "mamba_ssm_cache_dtype",
    "mamba_ssm_dtype",
    "mamba_use_mlp",
    "max_length",
    "max_position_embeddings",
    "max_window_layers",
    "min_length",
    "mla_use_nope",
    "mlp_bias",
    "mlp_expansion_factor",
    "mlp_hidden_act",
    "mlp_multipliers",
    "model_type",
    "moe_apply_router_weight_on_input",
    "moe_eval_capacity_factor",
    "moe_min_capacity",
    "moe_renormalize",
    "moe_router_activation_func",
    "moe_router_dtype",
    "moe_router_scaling_factor",
    "moe_shared_expert_overlap",
    "moe_token_dropping",
    "moe_train_capacity_factor",
    "mtp_transformer_layers",
    "mtp_use_dedicated_embeddings",
    "n_ctx",
    "n_positions",
    "no_bias",
    "no_repeat_ngram_size",
    "no_rope_layer_interval",
    "no_rope_layers",
    "norm_eps",
    "norm_topk_prob",
    "num_beam_groups",
    "num_beams",
    "num_expert_group",
    "num_hash_layers",
    "num_logits_to_keep",
    "num_mtp_modules",
    "num_return_sequences",
    "output_attentions",
    "output_gate_type",
    "output_hidden_states",
    "output_router_logits",
    "output_scores",
    "pad_token_id",
    "partial_rotary_factor",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "projectors_bias",
    "pruned_heads",
    "qk_head_dim",
    "qk_norm_type",
    "qkv_bias",
    "quantization_config",
    "query_pre_attn_scalar",
    "remove_invalid_values",
    "repetition_penalty",
    "rescale_prenorm_residual",
    "resid_pdrop",
    "residual_in_fp32",
    "residual_multiplier",
    "return_dict",
    "return_dict_in_generate",
    "rms_norm_eps",
    "rope_interleave",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rope_theta_global",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_pct",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_bias_update_rate",
    "router_jitter_noise",
    "router_z_loss_coef",
    "scale_attn_weights",
    "scoring_func",
    "sep_token_id",
    "seq_aux",
    "sliding_window_size",
    "ssm_in_multiplier",
    "ssm_multipliers",
    "ssm_out_multiplier",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "suppress_tokens",
    "swa_rope_theta",
    "swiglu_alpha",
    "swiglu_limit",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "time_step_floor",
    "time_step_limit",
    "time_step_max",
    "time_step_min",
    "time_step_rank",
    "tokenizer_class",
    "top_k",
    "top_p",
    "topk_method",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "typical_p",
    "use_bfloat16",
    "use_bias",
    "use_bidirectional_attention",
    "use_cache",
    "use_conv_bias",
    "use_expert_bias",
    "use_gemma_norm",
    "use_grouped_topk",
    "use_mamba_kernels",
    "use_moe_router_bias",
    "use_mrope",
    "use_mtp",
    "use_parallel_residual",
    "use_residual",
    "use_routing_bias",
    "vocab_size_per_layer_input",
    "yarn_beta_fast",
};

bool is_harmless(const std::string& key) {
  return std::binary_search(std::begin(kHarmless), std::end(kHarmless), key,
                            [](std::string_view a, std::string_view b) { return a < b; });
}

bool is_off(const YamlNode& value) {
  if (value.kind() != YamlNode::Kind::kScalar) return value.size() == 0;
  const auto flag = value.as_bool();
  const auto number = value.as_number(0, 0);
  return (flag.ok() && !*flag) || number.ok();
}

/// A key whose name speaks of the shape of layers, with a value that is not just a word.
bool may_matter(const std::string& key, const YamlNode& value) {
  constexpr std::string_view kShapes[] = {"layer",  "expert", "moe",       "attn",   "attention", "head",
                                          "window", "mamba",  "ssm",       "linear", "hidden",    "intermediate",
                                          "rank",   "sparse", "index",     "conv",   "pattern",   "block",
                                          "ffn",    "mlp",    "recurrent", "state"};
  const bool speaks = std::any_of(std::begin(kShapes), std::end(kShapes),
                                  [&](std::string_view word) { return key.find(word) != std::string::npos; });
  if (!speaks) return false;
  return value.kind() != YamlNode::Kind::kScalar || value.as_bool().ok() || value.as_number(-1e30, 1e30).ok();
}

}  // namespace

std::optional<YamlNode> HuggingFaceKeys::find(KeyNames names) const {
  for (const char* name : names) asked_.insert(name);
  for (const char* name : names) {
    if (const auto node = map_.find(name); has_value(node)) return node;
    for (const char* inner : {"ffn_config", "attn_config"}) {
      const auto map = map_.find(inner);
      if (!map || map->kind() != YamlNode::Kind::kMap) continue;
      if (const auto node = map->find(name); has_value(node)) return node;
    }
  }
  return std::nullopt;
}

std::uint32_t HuggingFaceKeys::need(KeyNames names, std::int64_t most) {
  if (!has(names)) {
    std::string all;
    for (const char* name : names) all += (all.empty() ? "" : " or ") + std::string(name);
    fail({}, fmt::format("{} is missing", all));
  }
  return read(names, 0, most);
}

std::uint32_t HuggingFaceKeys::read(KeyNames names, std::uint32_t otherwise, std::int64_t most, std::int64_t low) {
  const auto node = find(names);
  if (!node || !status_.ok()) return otherwise;
  const auto value = node->as_int(low, most);
  if (value.ok()) return static_cast<std::uint32_t>(*value);
  status_ = value.error();
  return otherwise;
}

bool HuggingFaceKeys::flag(KeyNames names, bool otherwise) {
  const auto node = find(names);
  if (!node || !status_.ok()) return otherwise;
  const auto value = node->as_bool();
  if (value.ok()) return *value;
  status_ = value.error();
  return otherwise;
}

std::string HuggingFaceKeys::word(KeyNames names) const {
  const auto node = find(names);
  return node && node->kind() == YamlNode::Kind::kScalar ? node->scalar() : std::string();
}

void HuggingFaceKeys::finish(std::vector<std::string>& notes) {
  std::string unknown, harmless;
  for (std::size_t i = 0; i < map_.size(); ++i) {
    const std::string key = map_.key(i);
    if (asked_.contains(key) || key == "ffn_config" || key == "attn_config" || !has_value(map_.find(key))) continue;
    if (is_harmless(key) || is_off(map_.item(i))) {
      append_word(harmless, key);
    } else if (status_.ok() && may_matter(key, map_.item(i))) {
      status_ = map_.item(i).error(fmt::format(
          "'{}' is not known and may change the answer; delete the key if it does not, or write a model file "
          "(docs/formats/model.md)",
          key));
    } else {
      append_word(unknown, key);
    }
  }
  if (!unknown.empty()) notes.push_back("keys that are not known, ignored: " + unknown);
  if (!harmless.empty()) notes.push_back(std::string(workload::kHarmlessNote) + ": " + harmless);
}

void HuggingFaceKeys::fail(KeyNames names, std::string message) {
  if (!status_.ok()) return;
  const auto node = find(names);
  status_ = (node ? *node : map_).error(std::move(message));
}

}  // namespace busbar::spec
