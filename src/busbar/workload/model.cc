#include "busbar/workload/model.h"

#include <fmt/core.h>

#include <utility>

namespace busbar {

LayerParameters layer_parameters(const ModelSpec& m) {
  const std::uint64_t h = m.hidden, f = m.ffn, d = m.head_dim;
  LayerParameters p;
  p.attention_in = h * (m.heads + 2ull * m.kv_heads) * d;
  p.attention_out = h * m.heads * d;
  p.mlp_in = (m.gated_mlp ? 2 : 1) * h * f;
  p.mlp_out = h * f;
  p.norms = 2 * h;
  return p;
}

std::uint64_t embedding_parameters(const ModelSpec& m) { return static_cast<std::uint64_t>(m.vocab) * m.hidden; }

bool has_experts(const ModelSpec& m, std::uint32_t layer) {
  const ExpertSpec& e = m.moe;
  if (layer >= m.layers) return e.experts > 0;  // multi-token prediction
  return e.experts > 0 && layer >= e.dense_layers && (layer - e.dense_layers) % e.every == e.every - 1;
}

bool has_window(const ModelSpec& m, std::uint32_t layer) {
  const WindowSpec& w = m.window;
  return w.tokens > 0 && layer < m.layers && (w.full_every == 0 || layer % w.full_every != w.full_every - 1);
}

double window_share(const ModelSpec& m, std::uint32_t seq) {
  if (m.window.tokens == 0 || m.window.tokens >= seq) return 1;
  const double s = seq, w = m.window.tokens;
  return (w * (s - w / 2) / s) / (s / 2);  // the first tokens see fewer than w
}

std::uint32_t expert_layers(const ModelSpec& m) {
  return m.moe.experts == 0 || m.layers < m.moe.dense_layers ? 0 : (m.layers - m.moe.dense_layers) / m.moe.every;
}

std::uint32_t attention_width(const ModelSpec& m) {
  const LatentAttentionSpec& a = m.latent;
  return a.kv_rank > 0 ? (a.nope_dim + a.rope_dim + a.v_dim) / 2 : m.head_dim;
}

/// Latent: down and up of queries and of keys and values, and the output.
std::uint64_t attention_parameters(const ModelSpec& m) {
  const LatentAttentionSpec& a = m.latent;
  const LayerParameters p = layer_parameters(m);
  if (a.kv_rank == 0) return p.attention_in + p.attention_out;
  const std::uint64_t h = m.hidden, heads = m.heads, q = a.nope_dim + a.rope_dim;
  const std::uint64_t query = a.q_rank > 0 ? h * a.q_rank + a.q_rank * heads * q : h * heads * q;
  return query + h * (a.kv_rank + a.rope_dim) + a.kv_rank * heads * (std::uint64_t{a.nope_dim} + a.v_dim) +
         heads * a.v_dim * h;
}

std::uint64_t expert_parameters(const ModelSpec& m) { return (m.gated_mlp ? 3ull : 2ull) * m.hidden * m.moe.ffn; }

namespace {

/// Matrices of all layers, with `routed` routed experts counted in each layer that has some.
std::uint64_t matrices_with(const ModelSpec& m, std::uint64_t routed) {
  const LayerParameters dense = layer_parameters(m);
  const std::uint64_t with_experts = expert_layers(m), router = std::uint64_t{m.hidden} * m.moe.experts;
  return m.layers * attention_parameters(m) + (m.layers - with_experts) * (dense.mlp_in + dense.mlp_out) +
         with_experts * ((routed + m.moe.shared) * expert_parameters(m) + router);
}

/// The same of the modules of multi-token prediction.
std::uint64_t mtp_matrices(const ModelSpec& m, std::uint64_t routed) {
  const LayerParameters dense = layer_parameters(m);
  const std::uint64_t mlp =
      m.moe.experts == 0 ? dense.mlp_in + dense.mlp_out
                         : (routed + m.moe.shared) * expert_parameters(m) + std::uint64_t{m.hidden} * m.moe.experts;
  return m.mtp * (attention_parameters(m) + mlp + 2ull * m.hidden * m.hidden);
}

/// Full layers, in layers with a window counted in part.
double layers_of_scores(const ModelSpec& m, std::uint32_t seq) {
  std::uint32_t windowed = 0;
  for (std::uint32_t i = 0; i < m.layers; ++i) windowed += has_window(m, i) ? 1 : 0;
  return m.layers - windowed + windowed * window_share(m, seq) + m.mtp;
}

std::uint64_t count_with(const ModelSpec& m, std::uint64_t routed) {
  const std::uint64_t tables = m.tied_embeddings ? 1 : 2;
  const std::uint64_t norms = 2ull * m.hidden + (m.latent.kv_rank > 0 ? m.latent.q_rank + m.latent.kv_rank : 0);
  return matrices_with(m, routed) + mtp_matrices(m, routed) + (m.layers + m.mtp) * norms + 2ull * m.mtp * m.hidden +
         tables * embedding_parameters(m) + m.hidden;
}

}  // namespace

std::uint64_t parameter_count(const ModelSpec& m) { return count_with(m, m.moe.experts); }
std::uint64_t active_parameter_count(const ModelSpec& m) { return count_with(m, m.moe.per_token); }

ModelFlops flops_per_token(const ModelSpec& m, std::uint32_t seq) {
  const double matrices =
      2.0 * static_cast<double>(matrices_with(m, m.moe.per_token) + mtp_matrices(m, m.moe.per_token));
  const double scores = 4.0 * seq * m.heads * attention_width(m) * layers_of_scores(m, seq);
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
  return check_experts(m);
}

}  // namespace busbar
