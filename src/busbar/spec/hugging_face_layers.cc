#include "busbar/spec/internal/hugging_face_layers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "busbar/spec/internal/model_bounds.h"

namespace busbar::spec {
namespace {

using Layers = std::vector<workload::LayerKind>;

/// The list of one entry per layer under these keys. One more or several entries are of multi-token prediction.
std::optional<YamlNode> list_of_layers(HuggingFaceKeys& keys, KeyNames names, const workload::ModelSpec& m,
                                       bool more = false) {
  const auto list = keys.find(names);
  if (!list || list->kind() != YamlNode::Kind::kSequence || list->size() == 0) return {};
  if (list->size() == m.layers || (more && list->size() > m.layers)) return list;
  keys.fail(names, fmt::format("{} entries for {} layers; give one for each", list->size(), m.layers));
  return {};
}

std::uint32_t number(HuggingFaceKeys& keys, KeyNames names, const YamlNode& item, std::int64_t most) {
  const auto value = item.as_int(0, most);
  if (value.ok()) return static_cast<std::uint32_t>(*value);
  keys.fail(names, value.error().text());
  return 0;
}

void set_mlp(workload::LayerKind& layer, bool experts, std::uint32_t ffn) {
  layer.experts = experts;
  layer.ffn = experts ? 0 : ffn;
}

/// Lists that say which layers have experts: 0 and 1, or names.
void apply_expert_lists(HuggingFaceKeys& keys, const workload::ModelSpec& m, Layers& layers) {
  if (m.moe.experts == 0) return;
  if (const auto list = list_of_layers(keys, {"moe_layer_freq"}, m))
    for (std::uint32_t i = 0; i < m.layers; ++i)
      set_mlp(layers[i], number(keys, {"moe_layer_freq"}, list->item(i), 1) == 1, m.ffn);
  if (const auto list = list_of_layers(keys, {"mlp_layer_types"}, m))
    for (std::uint32_t i = 0; i < m.layers; ++i) set_mlp(layers[i], list->item(i).scalar() == "sparse", m.ffn);
  if (const auto list = keys.find({"mlp_only_layers"}); list && list->kind() == YamlNode::Kind::kSequence)
    for (std::size_t i = 0; i < list->size(); ++i)
      if (const std::uint32_t n = number(keys, {"mlp_only_layers"}, list->item(i), m.layers - 1); keys.status().ok())
        set_mlp(layers[n], false, m.ffn);
}

enum class LayerType : std::uint8_t { kFull, kWindow, kLinear };

/// What each layer is by the lists of types; empty: the file has no such list.
std::vector<LayerType> layer_types(HuggingFaceKeys& keys, const std::string& type, const workload::ModelSpec& m) {
  std::vector<LayerType> out;
  if (const auto list = list_of_layers(keys, {"layer_types"}, m)) {
    for (std::uint32_t i = 0; i < m.layers; ++i) {
      const std::string& word = list->item(i).scalar();
      if (word == "full_attention" || word == "attention" ||
          word == "deepseek_sparse_attention")  // apply_indexer() adds what is sparse
        out.push_back(LayerType::kFull);
      else if (word == "sliding_attention" || word == "chunked_attention")
        out.push_back(LayerType::kWindow);
      else if (word == "linear_attention" || word == "mamba" || word == "conv")
        out.push_back(LayerType::kLinear);
      else
        keys.fail({"layer_types"}, fmt::format("layer {}: '{}' is not modelled; known are full_attention, "
                                               "sliding_attention, chunked_attention, linear_attention, mamba and conv",
                                               i, word));
    }
  } else if (const auto full = keys.find({"full_attn_idxs"}); full && full->kind() == YamlNode::Kind::kSequence) {
    out.assign(m.layers, LayerType::kLinear);  // LFM2
    for (std::size_t i = 0; i < full->size(); ++i)
      out[number(keys, {"full_attn_idxs"}, full->item(i), m.layers - 1)] = LayerType::kFull;
  } else if (const auto pattern = list_of_layers(keys, {"hybrid_layer_pattern"}, m)) {  // MiMo V2: 1 has a window
    for (std::uint32_t i = 0; i < m.layers; ++i)
      out.push_back(number(keys, {"hybrid_layer_pattern"}, pattern->item(i), 1) == 1 ? LayerType::kWindow
                                                                                     : LayerType::kFull);
  } else if (const auto kinds = list_of_layers(keys, {"attn_type_list"}, m)) {  // MiniMax: 0 is linear
    for (std::uint32_t i = 0; i < m.layers; ++i)
      out.push_back(number(keys, {"attn_type_list"}, kinds->item(i), 1) == 0 ? LayerType::kLinear : LayerType::kFull);
  } else if (type.starts_with("qwen3_next") || type.starts_with("qwen3_5")) {
    const std::uint32_t every = keys.read({"full_attention_interval"}, 4, kMostLayers);
    for (std::uint32_t i = 0; i < m.layers; ++i)
      out.push_back(i % every == every - 1 ? LayerType::kFull : LayerType::kLinear);
  }
  return out;
}

/// Linear attention of Qwen 3 Next and after.
workload::MixerSpec gated_delta(HuggingFaceKeys& keys) {
  workload::MixerSpec x{
      .kind = workload::MixerKind::kState, .latent = {}, .indexer = {}, .compression = {}, .state = {}};
  x.state.heads = keys.need({"linear_num_value_heads"}, kMostHeads);
  x.state.key_heads = keys.need({"linear_num_key_heads"}, kMostHeads);
  x.state.key_dim = keys.need({"linear_key_head_dim"}, kMostHeadWidth);
  x.state.value_dim = keys.need({"linear_value_head_dim"}, kMostHeadWidth);
  x.state.conv = keys.need({"linear_conv_kernel_dim"}, kMostHeadWidth);
  return x;
}

/// Lightning attention of MiniMax: queries, keys and values of all heads, and an output gate.
workload::MixerSpec lightning(const workload::ModelSpec& m) {
  workload::MixerSpec x{
      .kind = workload::MixerKind::kState, .latent = {}, .indexer = {}, .compression = {}, .state = {}};
  x.state = {.rule = workload::StateRule::kLightning,
             .heads = m.heads,
             .key_heads = m.heads,
             .key_dim = m.head_dim,
             .value_dim = m.head_dim,
             .chunk = 256};
  return x;
}

/// Mamba-2, in the words of Nemotron-H or of Granite 4.
workload::MixerSpec mamba(HuggingFaceKeys& keys) {
  workload::MixerSpec x{
      .kind = workload::MixerKind::kState, .latent = {}, .indexer = {}, .compression = {}, .state = {}};
  x.state.rule = workload::StateRule::kMamba;
  x.state.heads = keys.need({"mamba_num_heads", "mamba_n_heads"}, kMostHeads);
  x.state.value_dim = keys.need({"mamba_head_dim", "mamba_d_head"}, kMostHeadWidth);
  x.state.key_heads = keys.need({"n_groups", "mamba_n_groups"}, kMostHeads);
  x.state.key_dim = keys.need({"ssm_state_size", "mamba_d_state"}, kMostHeadWidth);
  x.state.conv = keys.need({"conv_kernel", "mamba_d_conv"}, kMostHeadWidth);
  x.state.chunk = keys.read({"chunk_size", "mamba_chunk_size"}, 128, kMostWidth);
  return x;
}

/// LFM2: as many channels as hidden elements.
workload::MixerSpec short_convolution(HuggingFaceKeys& keys, const workload::ModelSpec& m) {
  workload::MixerSpec x{
      .kind = workload::MixerKind::kState, .latent = {}, .indexer = {}, .compression = {}, .state = {}};
  x.state.rule = workload::StateRule::kConvolution;
  x.state.heads = x.state.key_heads = m.heads;
  x.state.value_dim = m.hidden / m.heads;
  x.state.conv = keys.need({"conv_L_cache"}, kMostHeadWidth);
  return x;
}

workload::MixerSpec linear_shape(HuggingFaceKeys& keys, const workload::ModelSpec& m) {
  if (keys.has({"linear_num_value_heads"})) return gated_delta(keys);
  if (keys.has({"mamba_n_heads"})) return mamba(keys);
  return keys.has({"conv_L_cache"}) ? short_convolution(keys, m) : lightning(m);
}

/// The shape of layers with a window, where a family has keys of its own for it.
workload::MixerSpec windowed_shape(HuggingFaceKeys& keys, const std::string& type, const workload::MixerSpec& full) {
  workload::MixerSpec x = full;
  x.window = keys.need({"sliding_window", "attention_chunk_size"}, kMostWindow);
  x.heads = keys.read({"swa_num_attention_heads"}, x.heads, kMostHeads);
  x.kv_heads = keys.read({"swa_num_key_value_heads"}, x.kv_heads, kMostHeads);
  x.head_dim = keys.read({"swa_head_dim"}, x.head_dim, kMostHeadWidth);
  x.v_dim = keys.read({"swa_v_head_dim"}, x.v_dim, kMostHeadWidth, 0);
  const auto other = keys.find({"attention_other_setting"});  // Step 3.5
  if (type.starts_with("step3p5") && other && other->kind() == YamlNode::Kind::kMap) {
    HuggingFaceKeys inner(*other);
    x.heads = inner.read({"num_attention_heads"}, x.heads, kMostHeads);
    x.kv_heads = inner.read({"num_attention_groups", "num_key_value_heads"}, x.kv_heads, kMostHeads);
    x.head_dim = inner.read({"head_dim", "true_head_dim"}, x.head_dim, kMostHeadWidth);
    if (!inner.status().ok()) keys.fail({"attention_other_setting"}, inner.status().error().text());
  }
  return x;
}

workload::MixerSpec full_shape(HuggingFaceKeys& keys, const std::string& type, const workload::MixerSpec& plain) {
  workload::MixerSpec x = plain;
  x.window = 0;
  if (type.starts_with("qwen3_next") || type.starts_with("qwen3_5")) x.gate = keys.flag({"attn_output_gate"}, true);
  if (type.starts_with("gemma4")) {
    x.head_dim = keys.read({"global_head_dim"}, x.head_dim, kMostHeadWidth);
    x.kv_heads = keys.read({"num_global_key_value_heads"}, x.kv_heads, kMostHeads);
    x.keys_are_values = keys.flag({"attention_k_eq_v"}, false);
  }
  return x;
}

void apply_layer_types(HuggingFaceKeys& keys, const std::string& type, const workload::ModelSpec& m, Layers& layers) {
  const std::vector<LayerType> types = layer_types(keys, type, m);
  keys.read({"full_attention_interval"}, 0, kMostLayers, 0);  // the list says the same
  if (types.empty() || !keys.status().ok()) return;
  const auto has = [&](LayerType t) { return std::find(types.begin(), types.end(), t) != types.end(); };
  const bool slides = keys.flag({"use_sliding_window"}, true) && keys.has({"sliding_window", "attention_chunk_size"});
  workload::MixerSpec plain = workload::plain_mixer(m);
  if (plain.kind == workload::MixerKind::kAttention) plain.v_dim = keys.read({"v_head_dim"}, 0, kMostHeadWidth, 0);
  const workload::MixerSpec full = full_shape(keys, type, plain);
  const workload::MixerSpec windowed = has(LayerType::kWindow) && slides ? windowed_shape(keys, type, plain) : full;
  const workload::MixerSpec linear = has(LayerType::kLinear) ? linear_shape(keys, m) : full;
  for (std::uint32_t i = 0; i < m.layers; ++i)
    layers[i].mixer = types[i] == LayerType::kFull ? full : types[i] == LayerType::kWindow ? windowed : linear;
}

/// Kimi Delta Attention. Source: moonshotai/Kimi-Linear-48B-A3B-Instruct, modeling_kimi.py (2025).
void apply_kimi(HuggingFaceKeys& keys, const workload::ModelSpec& m, Layers& layers) {
  const auto map = keys.find({"linear_attn_config"});
  if (!map || map->kind() != YamlNode::Kind::kMap) return;
  HuggingFaceKeys inner(*map);
  workload::MixerSpec linear{
      .kind = workload::MixerKind::kState, .latent = {}, .indexer = {}, .compression = {}, .state = {}};
  workload::StateSpec& s = linear.state;
  s.heads = s.key_heads = inner.need({"num_heads"}, kMostHeads);
  s.key_dim = s.value_dim = s.decay_rank = inner.need({"head_dim"}, kMostHeadWidth);
  s.conv = inner.need({"short_conv_kernel_size"}, kMostHeadWidth);
  s.gate_rank = inner.flag({"use_full_rank_gate"}, false) ? 0 : s.key_dim;
  for (workload::LayerKind& layer : layers) layer.mixer.gate = keys.flag({"mla_use_output_gate"}, false);
  const auto list = inner.find({"kda_layers"});
  if (!list || list->kind() != YamlNode::Kind::kSequence)
    return keys.fail({"linear_attn_config"}, "kda_layers is missing: the numbers of the linear layers, from 1");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto n = list->item(i).as_int(1, m.layers);
    if (!n.ok()) return keys.fail({"linear_attn_config"}, n.error().text());
    layers[static_cast<std::size_t>(*n - 1)].mixer = linear;
  }
  if (!inner.status().ok()) keys.fail({"linear_attn_config"}, inner.status().error().text());
}

/// The layer of one letter: M Mamba-2, * attention, - MLP, E experts.
workload::LayerKind letter_layer(HuggingFaceKeys& keys, const workload::ModelSpec& m, char letter) {
  workload::LayerKind layer;
  layer.mixer.kind = workload::MixerKind::kNone;
  if (letter == 'M') layer.mixer = mamba(keys);
  if (letter == '*') layer.mixer = workload::plain_mixer(m);
  if (letter == '-') layer.ffn = m.ffn;
  if (letter == 'E') layer.experts = true;
  return layer;
}

void apply_letters(HuggingFaceKeys& keys, const workload::ModelSpec& m, Layers& layers, workload::LayerKind& mtp) {
  const std::string letters = hybrid_pattern(keys, {"hybrid_override_pattern"}, {"layers_block_type"});
  for (std::size_t i = 0; i < letters.size() && i < layers.size(); ++i) layers[i] = letter_layer(keys, m, letters[i]);
  const std::string more = hybrid_pattern(keys, {"mtp_hybrid_override_pattern"}, {"mtp_layers_block_type"});
  mtp.mixer.kind = workload::MixerKind::kNone;
  for (const char letter : more) {  // its module has a mixer and then an MLP
    const workload::LayerKind half = letter_layer(keys, m, letter);
    if (half.has_mixer()) mtp.mixer = half.mixer;
    if (half.has_mlp()) mtp.experts = half.experts, mtp.ffn = half.ffn;
  }
}

/// Blocks of which the model takes each for two layers, one after the other. Falcon-H1 (arXiv:2507.22448, 2025):
/// Mamba-2, then attention and MLP; the block runs both mixers on one input. Arctic (transformers 4.57, models/arctic):
/// attention and an MLP as wide as the hidden size, then experts, which read the input of the block.
void apply_halves(HuggingFaceKeys& keys, const std::string& type, workload::ModelSpec& m, Layers& layers) {
  const bool states = type == "falcon_h1";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool first = i % 2 == 0;
    workload::LayerKind& layer = layers[i];
    layer = {};
    layer.mixer = workload::plain_mixer(m);
    if (states && first) layer.mixer = mamba(keys);
    if (states && !first) layer.ffn = m.ffn;
    if (!states && first) layer.ffn = m.hidden;
    if (!states && !first) layer.mixer.kind = workload::MixerKind::kNone, layer.experts = true;
  }
  m.notes.push_back(states ? "each block counts as two layers: Mamba-2, then attention and MLP"
                           : "each block counts as two layers: attention and MLP, then experts");
}

/// DeepSeek Sparse Attention: every layer scores keys, but those that share the scores of one before.
void apply_indexer(HuggingFaceKeys& keys, const workload::ModelSpec& m, Layers& layers) {
  if (!keys.has({"index_topk"})) return;
  workload::IndexerSpec indexer{keys.need({"index_n_heads"}, kMostHeads), keys.need({"index_head_dim"}, kMostHeadWidth),
                                keys.need({"index_topk"}, kMostWindow)};
  const auto shared = list_of_layers(keys, {"indexer_types"}, m);
  for (std::uint32_t i = 0; i < m.layers; ++i) {
    layers[i].mixer.indexer = indexer;
    if (shared && shared->item(i).scalar() == "shared") layers[i].mixer.indexer.heads = layers[i].mixer.indexer.dim = 0;
  }
}

/// MiniMax M3: blocks of keys, chosen by a few narrow heads.
void apply_block_sparse(HuggingFaceKeys& keys, const workload::ModelSpec& m, Layers& layers) {
  const auto map = keys.find({"sparse_attention_config"});
  if (!map || map->kind() != YamlNode::Kind::kMap) return;
  HuggingFaceKeys inner(*map);
  if (!inner.flag({"use_sparse_attention"}, true)) return;
  const workload::IndexerSpec indexer{
      inner.need({"sparse_num_index_heads"}, kMostHeads), inner.need({"sparse_index_dim"}, kMostHeadWidth),
      inner.need({"sparse_topk_blocks"}, kMostWidth) * inner.need({"sparse_block_size"}, kMostHeadWidth)};
  const auto list = list_of_layers(inner, {"sparse_attention_freq"}, m);
  for (std::uint32_t i = 0; i < m.layers; ++i)
    if (!list || number(keys, {"sparse_attention_config"}, list->item(i), 1) == 1) layers[i].mixer.indexer = indexer;
  if (!inner.status().ok()) keys.fail({"sparse_attention_config"}, inner.status().error().text());
}

/// DeepSeek V4: a ratio for each layer, and for those of multi-token prediction.
void apply_compression(HuggingFaceKeys& keys, const workload::ModelSpec& m, Layers& layers, workload::LayerKind& mtp) {
  const auto list = list_of_layers(keys, {"compress_ratios"}, m, true);
  if (!list) return;
  workload::MixerSpec x = workload::plain_mixer(m);
  x.kind = workload::MixerKind::kCompressed;
  x.keys_are_values = true;
  x.window = keys.need({"sliding_window"}, kMostWindow);
  x.latent.q_rank = keys.need({"q_lora_rank"}, kMostRank);
  keys.read({"qk_rope_head_dim"}, 0, kMostHeadWidth, 0);  // part of head_dim
  x.compression.out_groups = keys.need({"o_groups"}, kMostHeads);
  x.compression.out_rank = keys.need({"o_lora_rank"}, kMostRank);
  const workload::IndexerSpec indexer{keys.need({"index_n_heads"}, kMostHeads),
                                      keys.need({"index_head_dim"}, kMostHeadWidth),
                                      keys.need({"index_topk"}, kMostWindow)};
  const auto with = [&](std::size_t i) {
    constexpr std::uint32_t kIndexed = 4;  // far keys of other ratios are so few that a token sees all
    workload::MixerSpec y = x;
    y.compression.ratio = number(keys, {"compress_ratios"}, list->item(i), kMostWindow);
    if (y.compression.ratio == kIndexed) y.indexer = indexer;
    return y;
  };
  for (std::uint32_t i = 0; i < m.layers; ++i) layers[i].mixer = with(i);
  mtp = layers.back();
  if (list->size() > m.layers) mtp.mixer = with(m.layers);
}

/// A width in hidden sizes, rounded up to a multiple of 256; two thirds of it for a gated MLP.
/// Source: nvidia/Llama-3_3-Nemotron-Super-49B-v1, modeling_decilm.py (2025).
std::uint32_t ffn_width(HuggingFaceKeys& ffn, const workload::ModelSpec& m) {
  constexpr double kMostFactor = 1024;
  constexpr std::uint32_t kStep = 256;
  const auto node = ffn.find({"ffn_mult"});
  if (!node) {
    ffn.fail({}, "ffn_mult is missing");
    return 0;
  }
  const auto factor = node->as_number(0, kMostFactor);
  if (!factor.ok()) {
    ffn.fail({"ffn_mult"}, factor.error().text());
    return 0;
  }
  const auto width = static_cast<std::uint32_t>(2 * *factor * m.hidden / 3);
  return (width + kStep - 1) / kStep * kStep;
}

/// NVIDIA's pruned models: attention or MLP of each layer may be missing, widths differ.
void apply_blocks(HuggingFaceKeys& keys, const workload::ModelSpec& m, Layers& layers) {
  const auto list = list_of_layers(keys, {"block_configs"}, m);
  if (!list) return;
  for (std::uint32_t i = 0; i < m.layers; ++i) {
    const auto attention = list->item(i).find("attention"), ffn = list->item(i).find("ffn");
    if (!attention || !ffn) return keys.fail({"block_configs"}, fmt::format("block {} has no attention or ffn", i));
    HuggingFaceKeys a(*attention), f(*ffn);
    workload::LayerKind& layer = layers[i];
    layer.mixer = workload::plain_mixer(m);
    if (a.flag({"replace_with_linear"}, false) || f.flag({"replace_with_linear"}, false))
      return keys.fail({"block_configs"}, fmt::format("block {}: replace_with_linear is not modelled", i));
    if (a.flag({"no_op"}, false))
      layer.mixer.kind = workload::MixerKind::kNone;
    else
      layer.mixer.kv_heads = std::max(1u, m.heads / a.need({"n_heads_in_group"}, m.heads));
    layer.ffn = f.flag({"no_op"}, false) ? 0 : ffn_width(f, m);
    for (const HuggingFaceKeys* inner : {&a, &f})
      if (!inner->status().ok()) return keys.fail({"block_configs"}, inner->status().error().text());
  }
}

/// Distinct kinds, and the kind of each layer.
void store(const Layers& layers, const workload::LayerKind& mtp, workload::ModelSpec& m) {
  const auto number_of = [&](const workload::LayerKind& kind) {
    const auto at = std::find(m.kinds.begin(), m.kinds.end(), kind);
    const auto n = static_cast<std::uint16_t>(at - m.kinds.begin());
    if (at == m.kinds.end()) m.kinds.push_back(kind);
    return n;
  };
  for (const workload::LayerKind& layer : layers) m.kind_of.push_back(number_of(layer));
  m.kind_of.push_back(m.mtp > 0 ? number_of(mtp) : m.kind_of.back());
}

}  // namespace

std::string hybrid_pattern(HuggingFaceKeys& keys, KeyNames letters, KeyNames names) {
  const auto known = [](char c) { return c == 'M' || c == '*' || c == '-' || c == 'E'; };
  std::string out = keys.word(letters);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!known(out[i]))
      keys.fail(letters, fmt::format("'{}' at place {} is no kind of layer; known are M, *, - and E", out[i], i));
  const auto list = keys.find(names);
  if (!out.empty() || !list || list->kind() != YamlNode::Kind::kSequence) return out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string& name = list->item(i).scalar();
    const char letter = name == "mamba"       ? 'M'
                        : name == "attention" ? '*'
                        : name == "mlp"       ? '-'
                        : name == "moe"       ? 'E'
                                              : 0;
    if (letter == 0)
      keys.fail(names, fmt::format("'{}' is no kind of layer; known are mamba, attention, mlp and moe", name));
    out += letter;
  }
  return out;
}

bool has_halves(HuggingFaceKeys& keys, const std::string& type) {
  if (type != "arctic") return type == "falcon_h1";
  if (keys.read({"moe_layer_frequency"}, 2, kMostLayers) != 1)
    keys.fail({"moe_layer_frequency"}, "other steps than 1 are not modelled; write a model file");
  if (!keys.flag({"parallel_attn_mlp_res"}, false))
    keys.fail({"parallel_attn_mlp_res"}, "Arctic without its dense part is not modelled; write a model file");
  return true;
}

void read_layer_kinds(HuggingFaceKeys& keys, const std::string& type, workload::ModelSpec& m) {
  workload::ModelSpec bare = m;
  bare.mtp = 0;
  const workload::LayerTable before = workload::layer_table(bare);
  Layers layers;
  for (std::uint32_t i = 0; i < m.layers; ++i) layers.push_back(before.kind(i));
  const Layers plain = layers;
  workload::LayerKind mtp;
  mtp.mixer.kind = workload::MixerKind::kNone;
  apply_expert_lists(keys, m, layers);
  apply_layer_types(keys, type, m, layers);
  apply_kimi(keys, m, layers);
  if (type == "nemotron_h") apply_letters(keys, m, layers, mtp);
  if (has_halves(keys, type)) apply_halves(keys, type, m, layers);
  apply_blocks(keys, m, layers);
  if (keys.has({"compress_ratios"}))
    apply_compression(keys, m, layers, mtp);
  else
    apply_indexer(keys, m, layers);
  apply_block_sparse(keys, m, layers);
  if (!keys.status().ok() || layers == plain) return;
  if (!mtp.has_mixer())  // like the last layer that sees keys
    for (const workload::LayerKind& layer : layers)
      if (workload::has_scores(layer.mixer) && layer.has_mlp()) mtp = layer;
  if (!mtp.has_mixer() && !mtp.has_mlp()) mtp = layers.back();
  if (type.starts_with("step3p")) set_mlp(mtp, false, m.ffn);  // Step 3.5, arXiv:2602.10604 (2026)
  store(layers, mtp, m);
}

}  // namespace busbar::spec
