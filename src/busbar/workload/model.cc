#include "busbar/workload/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace busbar::workload {

std::uint64_t embedding_parameters(const ModelSpec& m) { return static_cast<std::uint64_t>(m.vocab) * m.hidden; }

namespace {

/// Precondition: the model gives the kind of each layer.
const LayerKind& given_kind(const ModelSpec& m, std::uint32_t layer) {
  return m.kinds[layer < m.layers ? m.kind_of[layer] : m.kind_of.back()];
}

}  // namespace

bool has_experts(const ModelSpec& m, std::uint32_t layer) {
  if (!m.kind_of.empty()) return given_kind(m, layer).experts;
  const ExpertSpec& e = m.moe;
  if (layer >= m.layers) return e.experts > 0;  // multi-token prediction
  return e.experts > 0 && layer >= e.dense_layers && (layer - e.dense_layers) % e.every == e.every - 1;
}

bool has_window(const ModelSpec& m, std::uint32_t layer) {
  if (!m.kind_of.empty()) return given_kind(m, layer).mixer.window > 0;
  const WindowSpec& w = m.window;
  return w.tokens > 0 && layer < m.layers && (w.full_every == 0 || layer % w.full_every != w.full_every - 1);
}

std::uint32_t expert_layers(const ModelSpec& m) {
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < m.layers; ++i) n += has_experts(m, i) ? 1 : 0;
  return n;
}

MixerSpec plain_mixer(const ModelSpec& m, bool windowed) {
  return {.kind = m.latent.kv_rank > 0 ? MixerKind::kLatent : MixerKind::kAttention,
          .heads = m.heads,
          .kv_heads = m.kv_heads,
          .head_dim = m.head_dim,
          .window = windowed ? m.window.tokens : 0,
          .qk_norm = m.qk_norm,
          .latent = m.latent,
          .indexer = {},
          .compression = {},
          .state = {}};
}

LayerTable layer_table(const ModelSpec& m) {
  LayerTable t;
  if (!m.kind_of.empty()) {
    t.kinds = m.kinds;
    t.of.assign(m.kind_of.begin(), m.kind_of.begin() + m.layers);
    t.of.insert(t.of.end(), m.mtp, m.kind_of.back());
    return t;
  }
  for (std::uint32_t i = 0; i < m.layers + m.mtp; ++i) {
    const bool experts = has_experts(m, i);
    const LayerKind kind{plain_mixer(m, has_window(m, i)), experts ? 0 : m.ffn, experts};
    const auto at = std::find(t.kinds.begin(), t.kinds.end(), kind);
    t.of.push_back(static_cast<std::uint16_t>(at - t.kinds.begin()));
    if (at == t.kinds.end()) t.kinds.push_back(kind);
  }
  return t;
}

std::vector<std::uint32_t> LayerTable::counts() const {
  std::vector<std::uint32_t> n(kinds.size());
  for (const std::uint16_t k : of) ++n[k];
  return n;
}

std::uint64_t mlp_parameters(const ModelSpec& m, std::uint64_t width) {
  return (m.gated_mlp ? 3ull : 2ull) * m.hidden * width;
}

std::uint32_t routed_hidden(const ModelSpec& m) { return m.moe.hidden > 0 ? m.moe.hidden : m.hidden; }

std::uint64_t expert_parameters(const ModelSpec& m) {
  return (m.gated_mlp ? 3ull : 2ull) * routed_hidden(m) * m.moe.ffn;
}

std::uint64_t router_parameters(const ModelSpec& m) {
  return std::uint64_t{m.hidden} * m.moe.experts + 2ull * m.hidden * m.moe.hidden;
}

namespace {

/// Matrices of the MLP of a layer, with `routed` routed experts if it has some.
std::uint64_t mlp_matrices(const ModelSpec& m, const LayerKind& kind, std::uint64_t routed) {
  if (!kind.experts) return mlp_parameters(m, kind.ffn);
  return routed * expert_parameters(m) + mlp_parameters(m, std::uint64_t{m.moe.shared} * m.moe.ffn) +
         router_parameters(m);
}

/// A layer of a kind, with so many routed experts.
std::uint64_t layer_with(const ModelSpec& m, const LayerKind& kind, std::uint64_t routed) {
  const std::uint64_t norms = ((kind.has_mixer() ? 1 : 0) + (kind.has_mlp() ? 1 : 0)) * std::uint64_t{m.hidden};
  return mixer_parameters(kind.mixer, m.hidden) + mlp_matrices(m, kind, routed) + norms;
}

std::uint64_t count_with(const ModelSpec& m, std::uint64_t routed) {
  const LayerTable table = layer_table(m);
  const std::vector<std::uint32_t> layers = table.counts();
  const std::uint64_t join = 2ull * m.hidden * m.hidden + 2ull * m.hidden;
  std::uint64_t n = (m.tied_embeddings ? 1 : 2) * embedding_parameters(m) + m.hidden + m.mtp * join;
  for (std::size_t k = 0; k < layers.size(); ++k) n += layers[k] * layer_with(m, table.kinds[k], routed);
  return n;
}

}  // namespace

std::uint64_t layer_parameters(const ModelSpec& m, const LayerKind& kind) { return layer_with(m, kind, m.moe.experts); }

double layer_flops(const ModelSpec& m, const LayerKind& kind, std::uint32_t seq) {
  const MixerFlops mixer = mixer_flops(kind.mixer, m.hidden, seq);
  return mixer.matrices + mixer.states + 0.5 * mixer.scores +
         2.0 * static_cast<double>(mlp_matrices(m, kind, m.moe.per_token));
}

std::uint64_t parameter_count(const ModelSpec& m) { return count_with(m, m.moe.experts); }
std::uint64_t active_parameter_count(const ModelSpec& m) { return count_with(m, m.moe.per_token); }

std::uint64_t tower_parameters(const ModelSpec& m) {
  std::uint64_t n = 0;
  for (const TowerSpec& t : m.towers) n += t.parameters;
  return n;
}

std::uint64_t cache_bytes(const ModelSpec& m, std::uint64_t tokens) {
  const LayerTable table = layer_table(m);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < m.layers; ++i) {
    const MixerCache c = mixer_cache(table.kind(i).mixer);
    bytes += c.per_sequence + c.per_token * (c.most_tokens > 0 ? std::min(c.most_tokens, tokens) : tokens);
  }
  return bytes;
}

ModelFlops flops_per_token(const ModelSpec& m, std::uint32_t seq) {
  const LayerTable table = layer_table(m);
  const std::vector<std::uint32_t> layers = table.counts();
  double matrices = 4.0 * m.mtp * m.hidden * m.hidden, scores = 0;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const MixerFlops mixer = mixer_flops(table.kinds[k].mixer, m.hidden, seq);
    const auto mlp = static_cast<double>(mlp_matrices(m, table.kinds[k], m.moe.per_token));
    matrices += layers[k] * (mixer.matrices + mixer.states + 2.0 * mlp);
    scores += layers[k] * mixer.scores;
  }
  const double logits = 2.0 * (1 + m.mtp) * static_cast<double>(embedding_parameters(m));
  return {.full_attention = 3.0 * (matrices + scores + logits), .causal = 3.0 * (matrices + 0.5 * scores + logits)};
}

namespace {

Where place_of(const ModelSpec& m, const std::string& key) {
  const auto it = m.places.find(key);
  return it == m.places.end() ? Where{.file = {}, .path = "model." + key} : it->second;
}

Status check_experts(const ModelSpec& m) {
  const ExpertSpec& e = m.moe;
  if (e.experts == 0) return {};
  if (e.per_token == 0 || e.ffn == 0)
    return invalid("a token meets at least one expert of width 1", place_of(m, "moe"));
  if (e.per_token > e.experts) {
    return invalid(fmt::format("a token cannot meet {} of {} experts", e.per_token, e.experts), place_of(m, "moe"));
  }
  if (e.dense_layers >= m.layers) {
    return invalid(
        fmt::format("{} dense layers of {} leave none with experts; leave out 'moe'", e.dense_layers, m.layers),
        place_of(m, "moe"));
  }
  return {};
}

/// Shapes that no layer has.
Status check_mixer(const MixerSpec& x, const Where& where) {
  const auto shared = [&](std::uint32_t heads, std::uint32_t by) -> Status {
    if (heads > 0 && by > 0 && heads % by == 0) return {};
    return invalid(fmt::format("{} heads cannot share {} key heads evenly; choose a divisor of {}", heads, by, heads),
                   where);
  };
  if (x.kind == MixerKind::kNone) return {};
  BUSBAR_RETURN_IF_ERROR(shared(mixer_heads(x), mixer_key_heads(x)));
  if (attention_width(x) == 0) return invalid("a head is at least one element wide", where);
  if (x.kind == MixerKind::kState && x.state.chunk == 0) return invalid("a chunk is at least one token", where);
  if (x.kind == MixerKind::kCompressed && (x.compression.out_groups == 0 || x.heads % x.compression.out_groups != 0))
    return invalid(fmt::format("{} heads are not {} equal groups", x.heads, x.compression.out_groups), where);
  return {};
}

Status check_kinds(const ModelSpec& m) {
  if (m.kinds.empty() && m.kind_of.empty()) return {};
  const Where where = place_of(m, "layer_kinds");
  if (m.kind_of.size() != m.layers + 1ull)
    return invalid(fmt::format("{} kinds for {} layers and one of multi-token prediction", m.kind_of.size(), m.layers),
                   where);
  for (const std::uint16_t k : m.kind_of) {
    if (k >= m.kinds.size())
      return invalid(fmt::format("there are {} kinds, none has number {}", m.kinds.size(), k), where);
    if (!m.kinds[k].has_mixer() && !m.kinds[k].has_mlp()) return invalid("a layer has a mixer or an MLP", where);
    if (m.kinds[k].experts && m.moe.experts == 0) return invalid("layers with experts need 'moe'", where);
  }
  for (const LayerKind& k : m.kinds) BUSBAR_RETURN_IF_ERROR(check_mixer(k.mixer, where));
  return {};
}

}  // namespace

Status check_model(const ModelSpec& m) {
  const auto place = [&](const std::string& key) { return place_of(m, key); };
  const std::pair<const char*, std::uint32_t> sizes[] = {
      {"layers", m.layers},     {"hidden", m.hidden},     {"ffn", m.ffn},    {"heads", m.heads},
      {"kv_heads", m.kv_heads}, {"head_dim", m.head_dim}, {"vocab", m.vocab}};
  for (const auto& [key, value] : sizes) {
    if (value == 0) return invalid("must be at least 1", place(key));
  }
  if (m.heads % m.kv_heads != 0) {
    return invalid(fmt::format("{} query heads cannot share {} key-value heads evenly; choose a divisor of {}", m.heads,
                               m.kv_heads, m.heads),
                   place("kv_heads"));
  }
  BUSBAR_RETURN_IF_ERROR(check_kinds(m));
  return check_experts(m);
}

}  // namespace busbar::workload
