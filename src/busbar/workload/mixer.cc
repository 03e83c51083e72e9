#include "busbar/workload/mixer.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar::workload {
namespace {

constexpr std::uint64_t kCacheWord = 2, kCacheStateWord = 4;  // bytes: bf16; states are kept in fp32

std::uint32_t value_dim(const MixerSpec& m) { return m.v_dim > 0 ? m.v_dim : m.head_dim; }

void add_indexer(const MixerSpec& m, std::uint64_t hidden, std::vector<Matrix>& out) {
  const IndexerSpec& i = m.indexer;
  if (i.heads == 0) return;
  const std::uint64_t from = m.latent.q_rank > 0 ? m.latent.q_rank : hidden;
  out.push_back({from, std::uint64_t{i.heads} * i.dim, MatrixCut::kWhole});
  out.push_back({hidden, std::uint64_t{i.dim} + i.heads, MatrixCut::kWhole});  // keys, weights of heads
}

/// Parts of queries, keys and values in one matrix.
void add_attention(const MixerSpec& m, std::uint64_t hidden, std::vector<Matrix>& out) {
  const std::uint64_t q = m.head_dim, v = value_dim(m);
  const std::uint64_t kv = m.kv_heads * (q + (m.keys_are_values ? 0 : v));
  out.push_back({hidden, m.heads * q + kv + (m.gate ? m.heads * v : 0), MatrixCut::kColumns});
  add_indexer(m, hidden, out);
  out.push_back({m.heads * v, hidden, MatrixCut::kRows, true});
}

void add_latent(const MixerSpec& m, std::uint64_t hidden, std::vector<Matrix>& out) {
  const LatentAttentionSpec& a = m.latent;
  const std::uint64_t heads = m.heads, query = a.nope_dim + a.rope_dim;
  out.push_back({hidden, std::uint64_t{a.kv_rank} + a.rope_dim, MatrixCut::kWhole});
  out.push_back({a.q_rank > 0 ? a.q_rank : hidden, heads * query, MatrixCut::kColumns});
  out.push_back({a.kv_rank, heads * (std::uint64_t{a.nope_dim} + a.v_dim), MatrixCut::kColumns});
  if (a.q_rank > 0) out.push_back({hidden, a.q_rank, MatrixCut::kWhole});
  if (m.gate) out.push_back({hidden, heads * a.v_dim, MatrixCut::kColumns});
  add_indexer(m, hidden, out);
  out.push_back({heads * a.v_dim, hidden, MatrixCut::kRows, true});
}

/// Keys of a compression that overlaps (ratio 4) are sums over two blocks, each with matrices of its own for values and
/// weights. The indexer compresses its own keys. Source: DeepSeek-V4, inference code of the model's repository (2026).
void add_compressed(const MixerSpec& m, std::uint64_t hidden, std::vector<Matrix>& out) {
  constexpr std::uint32_t kOverlapping = 4;
  const std::uint64_t heads = m.heads, d = m.head_dim, blocks = m.compression.ratio == kOverlapping ? 2 : 1;
  out.push_back({hidden, m.latent.q_rank, MatrixCut::kWhole});
  out.push_back({m.latent.q_rank, heads * d, MatrixCut::kColumns});
  out.push_back({hidden, d, MatrixCut::kWhole});
  if (m.compression.ratio > 0) out.push_back({hidden, 2 * blocks * d, MatrixCut::kWhole});
  if (m.indexer.heads > 0) {
    out.push_back({m.latent.q_rank, std::uint64_t{m.indexer.heads} * m.indexer.dim, MatrixCut::kWhole});
    out.push_back({hidden, m.indexer.heads + 2 * blocks * m.indexer.dim, MatrixCut::kWhole});
  }
  const std::uint64_t groups = m.compression.out_groups, rank = m.compression.out_rank;
  out.push_back({heads * d / groups, groups * rank, MatrixCut::kColumns, true});
  out.push_back({groups * rank, hidden, MatrixCut::kRows, true});
}

std::uint64_t keys_of(const StateSpec& s) { return std::uint64_t{s.key_heads} * s.key_dim; }
std::uint64_t values_of(const StateSpec& s) { return std::uint64_t{s.heads} * s.value_dim; }
/// Numbers of each head that a token gives: decay and strength, or the step of Mamba-2.
std::uint32_t scalars_of(const StateSpec& s) {
  if (s.rule == StateRule::kLightning || s.rule == StateRule::kConvolution) return 0;
  return s.rule == StateRule::kMamba || s.decay_rank > 0 ? 1 : 2;
}

void add_state(const StateSpec& s, std::uint64_t hidden, std::vector<Matrix>& out) {
  const std::uint64_t values = values_of(s), scalars = std::uint64_t{s.heads} * scalars_of(s);
  const std::uint64_t gate = s.rule == StateRule::kConvolution ? 2 * values : s.gate_rank > 0 ? 0 : values;
  out.push_back({hidden, 2 * keys_of(s) + values + gate + scalars, MatrixCut::kColumns});
  if (s.decay_rank > 0) {
    out.push_back({hidden, s.decay_rank, MatrixCut::kWhole});
    out.push_back({s.decay_rank, std::uint64_t{s.heads} * s.key_dim, MatrixCut::kColumns});
  }
  if (s.gate_rank > 0) {
    out.push_back({hidden, s.gate_rank, MatrixCut::kWhole});
    out.push_back({s.gate_rank, values, MatrixCut::kColumns});
  }
  out.push_back({values, hidden, MatrixCut::kRows, true});
}

std::uint64_t convolved(const StateSpec& s) { return s.conv > 0 ? 2 * keys_of(s) + values_of(s) : 0; }

}  // namespace

std::vector<Matrix> mixer_matrices(const MixerSpec& m, std::uint64_t hidden) {
  std::vector<Matrix> out;
  if (m.kind == MixerKind::kAttention) add_attention(m, hidden, out);
  if (m.kind == MixerKind::kLatent) add_latent(m, hidden, out);
  if (m.kind == MixerKind::kCompressed) add_compressed(m, hidden, out);
  if (m.kind == MixerKind::kState) add_state(m.state, hidden, out);
  return out;
}

std::uint64_t mixer_vectors(const MixerSpec& m) {
  if (m.kind == MixerKind::kState) return convolved(m.state) * m.state.conv + values_of(m.state) + 3ull * m.state.heads;
  if (m.kind == MixerKind::kLatent) return std::uint64_t{m.latent.q_rank} + m.latent.kv_rank;
  return 0;
}

std::uint64_t mixer_parameters(const MixerSpec& m, std::uint64_t hidden) {
  std::uint64_t n = mixer_vectors(m);
  for (const Matrix& x : mixer_matrices(m, hidden)) n += x.parameters();
  return n;
}

std::string mixer_words(const MixerSpec& m) {
  constexpr const char* kRules[] = {"delta", "mamba", "lightning", "convolution"};
  constexpr const char* kKinds[] = {"none", "attention", "latent attention", "compressed attention"};
  if (m.kind == MixerKind::kState) return kRules[static_cast<std::size_t>(m.state.rule)];
  std::string words = kKinds[static_cast<std::size_t>(m.kind)];
  if (m.window > 0) words += fmt::format(", window of {}", m.window);
  if (m.indexer.keys > 0) words += fmt::format(", best {} keys", m.indexer.keys);
  if (m.compression.ratio > 0) words += fmt::format(", sums of {}", m.compression.ratio);
  return words;
}

std::uint32_t mixer_heads(const MixerSpec& m) { return m.kind == MixerKind::kState ? m.state.heads : m.heads; }

std::uint32_t mixer_key_heads(const MixerSpec& m) {
  if (m.kind == MixerKind::kState) return m.state.key_heads;
  return m.kind == MixerKind::kLatent ? m.heads : m.kv_heads;
}

std::uint32_t attention_width(const MixerSpec& m) {
  if (m.kind == MixerKind::kState) return (m.state.key_dim + m.state.value_dim) / 2;
  const LatentAttentionSpec& a = m.latent;
  if (m.kind == MixerKind::kLatent) return (a.nope_dim + a.rope_dim + a.v_dim) / 2;
  return (m.head_dim + value_dim(m)) / 2;
}

bool has_scores(const MixerSpec& m) { return m.kind != MixerKind::kNone && m.kind != MixerKind::kState; }

double window_share(std::uint32_t window, std::uint32_t seq) {
  if (window == 0 || window >= seq) return 1;
  const double s = seq, w = window;
  return (w * (s - w / 2) / s) / (s / 2);  // the first tokens see fewer than w
}

double key_share(const MixerSpec& m, std::uint32_t seq) {
  if (m.kind == MixerKind::kCompressed) {
    const double near = window_share(m.window, seq);
    if (m.compression.ratio == 0) return near;
    const double all = 1.0 / m.compression.ratio;
    const double best = m.indexer.keys > 0 ? window_share(m.indexer.keys, seq) : 1;
    return std::min(1.0, near + std::min(all, best));
  }
  return std::min(window_share(m.window, seq), m.indexer.keys > 0 ? window_share(m.indexer.keys, seq) : 1);
}

MixerFlops mixer_flops(const MixerSpec& m, std::uint64_t hidden, std::uint32_t seq) {
  MixerFlops f;
  for (const Matrix& x : mixer_matrices(m, hidden)) f.matrices += 2.0 * static_cast<double>(x.parameters());
  if (has_scores(m)) f.scores = 4.0 * seq * m.heads * attention_width(m) * key_share(m, seq);
  if (const IndexerSpec& i = m.indexer; i.heads > 0)
    f.scores += 2.0 * seq * i.heads * i.dim / std::max(1u, m.compression.ratio);
  if (m.kind != MixerKind::kState) return f;
  const StateSpec& s = m.state;
  const double per_element = s.rule == StateRule::kDelta ? 8 : s.rule == StateRule::kMamba ? 7 : 4;
  f.states = per_element * s.heads * s.key_dim * s.value_dim + 2.0 * static_cast<double>(convolved(s)) * s.conv;
  return f;
}

MixerCache mixer_cache(const MixerSpec& m) {
  const std::uint64_t indexed = kCacheWord * (m.indexer.heads > 0 ? m.indexer.dim : 0);
  if (m.kind == MixerKind::kLatent) return {kCacheWord * (m.latent.kv_rank + m.latent.rope_dim) + indexed, 0, 0};
  if (m.kind == MixerKind::kCompressed) {
    const std::uint64_t far = m.compression.ratio > 0 ? (kCacheWord * m.head_dim + indexed) / m.compression.ratio : 0;
    return {far, 0, kCacheWord * m.head_dim * m.window};
  }
  if (m.kind == MixerKind::kAttention) {
    const std::uint64_t v = m.keys_are_values ? 0 : value_dim(m);
    return {kCacheWord * m.kv_heads * (m.head_dim + v) + indexed, m.window, 0};
  }
  if (m.kind != MixerKind::kState) return {};
  const StateSpec& s = m.state;
  const std::uint64_t states = kCacheStateWord * s.heads * s.key_dim * s.value_dim;
  return {0, 0, states + (s.conv > 0 ? kCacheWord * convolved(s) * (s.conv - 1) : 0)};
}

}  // namespace busbar::workload
