#include "busbar/spec/internal/hugging_face_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "busbar/spec/internal/hugging_face_keys.h"
#include "busbar/spec/internal/hugging_face_layers.h"
#include "busbar/spec/internal/model_bounds.h"

namespace busbar::spec {
namespace {

/// What files leave to the code of their model type.
struct Family {
  const char* type;
  bool gated = true;             ///< the MLP has a gate
  bool tied = false;             ///< embedding and head are one table, unless the file says otherwise
  std::uint32_t ffn_factor = 0;  ///< width of the MLP in hidden sizes, where no key gives it; 0: a key must
  int window = -1;  ///< layers with sliding_window: of so many the last is full; 0: all have one; -1: none by default
};
constexpr Family kFamilies[] = {
    {"llama"},
    {"mistral", true, false, 0, 0},
    {"mixtral", true, false, 0, 0},
    {"qwen2"},
    {"qwen2_moe"},
    {"qwen3"},
    {"qwen3_moe"},
    {"qwen3_vl_text"},
    {"qwen3_vl_moe_text"},
    {"qwen3_next"},
    {"qwen3_5_text"},
    {"qwen3_5_moe_text"},
    {"minimax_m1"},
    {"minimax_m2"},
    {"minimax_m3"},
    {"minimax_m3_vl"},
    {"mimo"},
    {"mimo_v2_flash"},
    {"deepseek_v32"},
    {"deepseek_v4"},
    {"deepseek_ref"},
    {"glm_moe_dsa"},
    {"glm4_moe_lite"},
    {"kimi_linear"},
    {"step3p5"},
    {"step3p7"},
    {"nemotron_h", false},
    {"nemotron-nas"},
    {"gemma4_text", true, true, 0, 6},
    {"cohere", true, true},
    {"cohere2", true, true, 0, 4},
    {"seed_oss"},
    {"smollm3", true, true},
    {"olmo2"},
    {"olmo3", true, false, 0, 4},
    {"deepseek_v2"},
    {"deepseek_v3"},
    {"kimi_k2"},
    {"glm4_moe"},
    {"gpt_oss", true, false, 0, 2},
    {"llama4"},
    {"llama4_text"},
    {"grok", true, true},
    {"grok-1", true, true},
    {"gemma", true, true},
    {"gemma2", true, true, 0, 2},
    {"gemma3_text", true, true, 0, 6},
    {"phi", false},
    {"phi3", true, false, 0, 0},
    {"phimoe", true, false, 0, 0},
    {"gpt2", false, true, 4},
    {"gptj", false, false, 4},
    {"gpt_neo", false, true, 4},
    {"gpt_neox", false},
    {"gpt_bigcode", false, true, 4},
    {"bloom", false, true, 4},
    {"falcon", false, true, 4},
    {"mpt", false, true, 4},
    {"opt", false, true},
    {"nemotron", false},
    {"starcoder2", false, false, 0, 0},
    {"dbrx"},
    {"granite"},
    {"granitemoe"},
    {"granitemoeshared"},
    {"granitemoehybrid"},
    {"falcon_h1"},
    {"arctic"},
    {"lfm2", true, true},
    {"lfm2_moe", true, true},
};

constexpr KeyNames kKvHeads = {"num_key_value_heads", "num_kv_heads", "kv_n_heads"};
constexpr KeyNames kHeadWidth = {"head_dim", "attention_head_dim"};
constexpr KeyNames kWidth = {"block_ff_dim", "intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner"};
constexpr KeyNames kSharedWidth = {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                                   "share_expert_dim", "shared_intermediate_size"};
constexpr KeyNames kExperts = {"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"};
constexpr KeyNames kPerToken = {"num_experts_per_tok",
                                "num_experts_per_token",
                                "experts_per_token",
                                "moe_top_k",
                                "top_k_experts",
                                "moe_k",
                                "moe_topk"};
/// Keys of layers that are neither attention nor MLP, and the types whose layers with them are known.
struct OtherLayers {
  const char* key;
  const char* type;  ///< begins with this; null: none
};
constexpr OtherLayers kOtherLayers[] = {{"mamba_d_state", "granitemoehybrid"},
                                        {"ssm_cfg", nullptr},
                                        {"state_size", nullptr},
                                        {"conv_L_cache", "lfm2"},
                                        {"mamba_num_heads", "nemotron_h"},
                                        {"hybrid_override_pattern", "nemotron_h"},
                                        {"linear_num_key_heads", "qwen3_"}};

Family family_of(HuggingFaceKeys& keys, const std::string& type, workload::ModelSpec& m) {
  for (const Family& f : kFamilies)
    if (type == f.type) return f;
  // A type of one's own is usually a changed Llama, whose activation tells that there is a gate.
  const std::string act = keys.word({"hidden_act", "activation_function"});
  if (act != "silu" && act != "swiglu") {
    keys.fail({"model_type"},
              fmt::format("model_type '{}' is not known, and hidden_act '{}' does not say whether the MLP "
                          "has a gate; write a model file (docs/formats/model.md)",
                          type, act));
  }
  m.notes.push_back(fmt::format("model_type '{}' is not known: read as a Llama", type));
  return {""};
}

std::string name_of_model(const HuggingFaceKeys& keys) {
  std::string name;
  const auto list = keys.find({"architectures"});
  if (list && list->kind() == YamlNode::Kind::kSequence && list->size() > 0) name = list->item(0).scalar();
  for (const std::string_view tail : {"ForCausalLM", "ForConditionalGeneration", "LMHeadModel"}) {
    if (name.ends_with(tail)) name.resize(name.size() - tail.size());
  }
  return name.empty() ? keys.word({"model_type"}) : name;
}

std::uint32_t kv_heads_of(HuggingFaceKeys& keys, const std::string& type, std::uint32_t heads) {
  if (type == "falcon" || type == "gpt_bigcode") {
    const bool grouped = keys.flag({"new_decoder_architecture"}, false);
    if (!grouped && keys.flag({"multi_query"}, true)) return 1;
  }
  return keys.read(kKvHeads, heads, kMostHeads);
}

void read_latent(HuggingFaceKeys& keys, workload::ModelSpec& m) {
  if (!keys.has({"kv_lora_rank"})) return;
  m.latent.kv_rank = keys.need({"kv_lora_rank"}, kMostRank);
  m.latent.q_rank = keys.read({"q_lora_rank"}, 0, kMostRank);
  m.latent.nope_dim = keys.need({"qk_nope_head_dim"}, kMostHeadWidth);
  m.latent.rope_dim = keys.need({"qk_rope_head_dim"}, kMostHeadWidth);
  m.latent.v_dim = keys.need({"v_head_dim"}, kMostHeadWidth);
  m.head_dim = m.latent.nope_dim + m.latent.rope_dim;
  m.kv_heads = m.heads;
}

/// Dense layers before those with experts, listed by number.
void read_dense_list(HuggingFaceKeys& keys, workload::ExpertSpec& e) {
  const auto list = keys.find({"mlp_only_layers"});
  if (!list || list->size() == 0) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto layer = list->item(i).as_int(0, kMostLayers);
    if (!layer.ok()) return keys.fail({"mlp_only_layers"}, layer.error().text());
    if (static_cast<std::size_t>(*layer) != i || e.every > 1) return;  // read_layer_kinds() takes each by its number
  }
  e.dense_layers = static_cast<std::uint32_t>(list->size());
}

void read_expert_layers(HuggingFaceKeys& keys, workload::ExpertSpec& e) {
  e.dense_layers = keys.read({"first_k_dense_replace", "num_dense_layers"}, 0, kMostLayers, 0);
  e.every = keys.read({"interleave_moe_layer_step", "decoder_sparse_step"}, 1, kMostLayers);
  const auto often = keys.find({"moe_layer_freq"});
  if (often && often->kind() == YamlNode::Kind::kScalar && keys.read({"moe_layer_freq"}, 1, kMostLayers) > 1)
    keys.fail({"moe_layer_freq"}, "other steps than 1 are not modelled; write a model file");
  read_dense_list(keys, e);
}

void read_experts(HuggingFaceKeys& keys, const std::string& type, workload::ModelSpec& m) {
  workload::ExpertSpec& e = m.moe;
  e.experts = keys.read(kExperts, 0, kMostExperts, 0);
  if (e.experts == 0) {
    if (type == "granitemoehybrid")
      m.ffn = keys.read(kSharedWidth, m.ffn, kMostWidth);  // the MLP next to experts stays
    return;
  }
  m.places["moe"] = keys.find(kExperts)->where();
  e.per_token = keys.need(kPerToken, kMostExperts);
  const bool llama4 = type == "llama4_text" || type == "llama4";
  e.biases = type == "gpt_oss";
  e.ffn = keys.read({"moe_intermediate_size", "expert_intermediate_size"}, m.ffn, kMostWidth);
  e.hidden = keys.read({"moe_latent_size", "routed_expert_hidden_size"}, 0, kMostHidden);
  m.ffn = keys.read({"dense_intermediate_size"}, m.ffn, kMostWidth);
  if (llama4) m.ffn = keys.read({"intermediate_size_mlp"}, m.ffn, kMostWidth);  // its intermediate_size is an expert's
  e.shared =
      keys.read({"n_shared_experts", "moe_num_shared_experts", "num_shared_experts"}, llama4 ? 1 : 0, kMostShared, 0);
  std::uint32_t width = keys.read(kSharedWidth, 0, kMostWidth, 0);
  // Grok 2, Gemma 4: a dense MLP next to the experts.
  if (keys.flag({"residual_moe"}, false) || keys.flag({"enable_moe_block"}, false)) width = m.ffn;
  if (width > 0 && width % e.ffn != 0)
    keys.fail(kSharedWidth, fmt::format("{} is no multiple of an expert's width {}", width, e.ffn));
  if (width > 0) e.shared = width / e.ffn;
  const std::uint32_t groups = keys.read({"n_group"}, 1, kMostExperts),
                      chosen = keys.read({"topk_group"}, 1, kMostExperts);
  if (chosen > groups) keys.fail({"topk_group"}, fmt::format("a token cannot use {} of {} groups", chosen, groups));
  if (chosen < groups) e.most_nodes = chosen;
  read_expert_layers(keys, e);
}

/// The window of layers that alternate: each so many layers one is full; the file may list them all.
void read_window_list(HuggingFaceKeys& keys, const YamlNode& list, workload::ModelSpec& m) {
  if (list.size() != m.layers)
    return keys.fail({"layer_types"}, fmt::format("{} types for {} layers", list.size(), m.layers));
  std::uint32_t first = m.layers, sliding = 0;
  for (std::uint32_t i = 0; i < m.layers; ++i) {
    const bool slides = list.item(i).scalar() == "sliding_attention";
    sliding += slides ? 1 : 0;
    if (!slides && first == m.layers) first = i;
  }
  if (sliding == 0) return;
  m.window = {keys.need({"sliding_window"}, kMostWindow), first == m.layers ? 0 : first + 1};
  for (std::uint32_t i = 0; i < m.layers; ++i) {
    if (workload::has_window(m, i) == (list.item(i).scalar() == "sliding_attention")) continue;
    m.window = {};  // no repeated order: read_layer_kinds() takes each layer by itself
    return;
  }
}

void read_window(HuggingFaceKeys& keys, const Family& family, workload::ModelSpec& m) {
  if (!keys.has({"sliding_window"}) || !keys.flag({"use_sliding_window"}, true)) return;
  const auto list = keys.find({"layer_types"});
  if (list && list->kind() == YamlNode::Kind::kSequence) return read_window_list(keys, *list, m);
  const std::uint32_t step = keys.read({"sliding_window_pattern"}, family.window > 0 ? family.window : 0, kMostLayers);
  if (family.window < 0 && step == 0) return;
  m.window = {keys.need({"sliding_window"}, kMostWindow), step};
}

constexpr KeyNames kLayers = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"};

/// A hybrid's list of layers gives their number too.
std::uint32_t layers_of(HuggingFaceKeys& keys) {
  const std::string letters = hybrid_pattern(keys, {"hybrid_override_pattern"}, {"layers_block_type"});
  if (letters.empty()) return keys.need(kLayers, kMostLayers);
  const std::uint32_t layers = keys.read(kLayers, static_cast<std::uint32_t>(letters.size()), kMostLayers);
  if (layers != letters.size())
    keys.fail({"hybrid_override_pattern", "layers_block_type"},
              fmt::format("{} kinds for {} layers; give one for each", letters.size(), layers));
  return layers;
}

/// LFM2: two thirds of the width, times a factor, rounded up.
std::uint32_t adjusted_width(HuggingFaceKeys& keys, std::uint32_t width) {
  constexpr double kMostFactor = 64;
  const std::uint32_t step = keys.read({"block_multiple_of"}, 256, kMostWidth);
  const auto factor = keys.find({"block_ffn_dim_multiplier"});
  const auto times = factor ? factor->as_number(0, kMostFactor) : Result<double>(1);
  if (!times.ok()) {
    keys.fail({"block_ffn_dim_multiplier"}, times.error().text());
    return width;
  }
  const auto wanted = static_cast<std::uint64_t>(*times * static_cast<double>(2 * std::uint64_t{width} / 3));
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (wanted + step - 1) / step) * step);
}

/// Width of the MLP. Where all layers have experts it may be missing.
std::uint32_t read_width(HuggingFaceKeys& keys, const Family& family, const workload::ModelSpec& m) {
  if (family.ffn_factor > 0) {
    const std::uint32_t factor = keys.read({"expansion_ratio"}, family.ffn_factor, kMostWidth / kMostHidden);
    return keys.read(kWidth, factor * m.hidden, kMostWidth);
  }
  if (!keys.has(kWidth) && keys.has({"moe_intermediate_size"})) return keys.need({"moe_intermediate_size"}, kMostWidth);
  if (!keys.has(kWidth) && keys.has({"block_configs"})) return 4 * m.hidden;  // each block gives its own
  const std::uint32_t width = keys.need(kWidth, kMostWidth);
  return keys.flag({"block_auto_adjust_ff_dim"}, false) ? adjusted_width(keys, width) : width;
}

Result<workload::ModelSpec> read_decoder(HuggingFaceKeys keys, const HuggingFaceKeys& root) {
  std::string type = keys.word({"model_type"});
  if (type.empty()) type = root.word({"model_type"});
  if (name_of_model(root).starts_with("Grok")) type = "grok";
  workload::ModelSpec m;
  const Family family = family_of(keys, type, m);
  m.name = name_of_model(root);
  m.layers = layers_of(keys);
  m.hidden = keys.need({"hidden_size", "n_embd", "d_model"}, kMostHidden);
  m.heads = keys.need({"num_attention_heads", "n_head", "n_heads", "num_heads"}, kMostHeads);
  m.vocab = keys.need({"vocab_size"}, kMostVocabulary);
  BUSBAR_RETURN_IF_ERROR(keys.status());
  m.kv_heads = kv_heads_of(keys, type, m.heads);
  if (const auto given = keys.find(kKvHeads)) m.places["kv_heads"] = given->where();
  m.head_dim = keys.read(kHeadWidth, m.hidden / m.heads, kMostHeadWidth);
  if (!keys.has(kHeadWidth) && !keys.has({"kv_lora_rank"}) && m.hidden % m.heads != 0) {
    keys.fail({"num_attention_heads", "n_head", "n_heads"},
              fmt::format("hidden size {} is no multiple of {} heads, and head_dim is missing", m.hidden, m.heads));
  }
  m.ffn = read_width(keys, family, m);
  m.gated_mlp = family.gated;
  m.qk_norm = type.starts_with("qwen3") || type == "gemma3_text" || type == "gemma4_text" || type.starts_with("lfm2") ||
              keys.flag({"use_qk_norm"}, false);
  read_experts(keys, type, m);
  read_latent(keys, m);
  read_window(keys, family, m);
  if (has_halves(keys, type)) m.layers *= 2;
  m.mtp = keys.read({"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0, kMostPredictors, 0);
  if (keys.status().ok()) read_layer_kinds(keys, type, m);
  HuggingFaceKeys outer = root;
  m.tied_embeddings =
      keys.flag({"tie_word_embeddings", "tie_embedding"}, outer.flag({"tie_word_embeddings"}, family.tied));
  BUSBAR_RETURN_IF_ERROR(keys.status());
  BUSBAR_RETURN_IF_ERROR(outer.status());
  read_towers(outer, m);
  keys.finish(m.notes);
  BUSBAR_RETURN_IF_ERROR(keys.status());
  BUSBAR_RETURN_IF_ERROR(workload::check_model(m));
  return m;
}

}  // namespace

bool is_hugging_face_config(const YamlNode& root) {
  if (root.kind() != YamlNode::Kind::kMap || root.find("name")) return false;
  return root.find("model_type") || root.find("architectures");
}

Result<workload::ModelSpec> read_hugging_face(const YamlNode& root) {
  HuggingFaceKeys keys(root);
  if (keys.flag({"is_encoder_decoder"}, false)) return unsupported("encoders are not modelled", root.where());
  const auto text = root.find("text_config");
  const bool nested = text && text->kind() == YamlNode::Kind::kMap && !keys.has({"num_hidden_layers"});
  HuggingFaceKeys decoder(nested ? *text : root);
  const std::string type = decoder.word({"model_type"});
  for (const OtherLayers& o : kOtherLayers)
    if (const auto other = decoder.find({o.key});
        other && type != "falcon_h1" && (o.type == nullptr || !type.starts_with(o.type)))
      return unsupported("layers without attention are not modelled for model_type '" + type + "'", other->where());
  BUSBAR_ASSIGN(workload::ModelSpec m, read_decoder(decoder, keys));
  return m;
}

}  // namespace busbar::spec
