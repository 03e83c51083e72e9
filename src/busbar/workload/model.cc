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

std::uint64_t parameter_count(const ModelSpec& m) {
  const std::uint64_t tables = m.tied_embeddings ? 1 : 2;
  return m.layers * layer_parameters(m).total() + tables * embedding_parameters(m) + m.hidden;
}

ModelFlops flops_per_token(const ModelSpec& m, std::uint32_t seq) {
  const LayerParameters p = layer_parameters(m);
  const double matrices = 2.0 * static_cast<double>(p.total() - p.norms);
  const double scores = 4.0 * seq * m.heads * m.head_dim;
  const double logits = 2.0 * static_cast<double>(embedding_parameters(m));
  return {.full_attention = 3.0 * (m.layers * (matrices + scores) + logits),
          .causal = 3.0 * (m.layers * (matrices + 0.5 * scores) + logits)};
}

Status check_model(const ModelSpec& m) {
  const auto place = [&](const std::string& key) {
    const auto it = m.places.find(key);
    return it == m.places.end() ? Where{.file = {}, .path = "model." + key} : it->second;
  };
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
  return {};
}

}  // namespace busbar
