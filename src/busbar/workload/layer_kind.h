// The kinds of layers of a decoder: each mixes tokens in one way and has one MLP, or has only one of the two.
#pragma once

#include <cstdint>

namespace busbar::workload {

/// Multi-head latent attention: queries, keys and values pass through narrow matrices.
/// Source: DeepSeek-V2, arXiv:2405.04434 (2024), section 2.1.
struct LatentAttentionSpec {
  std::uint32_t q_rank = 0;                             ///< width of the latent query; 0: queries are not narrowed
  std::uint32_t kv_rank = 0;                            ///< width of the latent key and value; 0: ordinary attention
  std::uint32_t nope_dim = 0, rope_dim = 0, v_dim = 0;  ///< of a head: without and with position, value
  bool operator==(const LatentAttentionSpec&) const = default;
};

/// Sparse attention: narrow heads score all keys before a token, which then sees only the best ones.
/// Source: DeepSeek-V3.2, arXiv:2512.02556 (2025), section 2.1.
struct IndexerSpec {
  std::uint32_t heads = 0, dim = 0;  ///< 0: there is none
  std::uint32_t keys = 0;            ///< that a token sees
  bool operator==(const IndexerSpec&) const = default;
};

/// Attention whose keys are also values, one head for all, and whose far keys are sums over `ratio` tokens; the output
/// passes through a narrow matrix per group of heads. Source: DeepSeek-V4, model card and configuration (2026).
struct CompressionSpec {
  std::uint32_t ratio = 0;  ///< tokens of a compressed key; 0: a layer has only the keys of its window
  std::uint32_t out_groups = 0, out_rank = 0;
  bool operator==(const CompressionSpec&) const = default;
};

/// How a layer without attention updates its state, a matrix of key_dim x value_dim in each head.
enum class StateRule : std::uint8_t {
  kDelta,        ///< gated delta rule: Gated DeltaNet, arXiv:2412.06464; Kimi Delta Attention, arXiv:2510.26692
  kMamba,        ///< Mamba-2, arXiv:2405.21060
  kLightning,    ///< linear attention with a decay: MiniMax-01, arXiv:2501.08313
  kConvolution,  ///< none: a short convolution between two gates, LFM2 (transformers 4.54, models/lfm2); key_dim is 0
};

struct StateSpec {
  StateRule rule = StateRule::kDelta;
  std::uint32_t heads = 0;      ///< of values; each has a state
  std::uint32_t key_heads = 0;  ///< of keys and queries, shared by heads (groups of Mamba-2)
  std::uint32_t key_dim = 0, value_dim = 0;
  std::uint32_t conv = 0;        ///< tokens that the convolution before it sees; 0: there is none
  std::uint32_t chunk = 64;      ///< tokens that its kernels process together
  std::uint32_t decay_rank = 0;  ///< a decay for each key element, through a matrix so narrow; 0: one for each head
  std::uint32_t gate_rank = 0;   ///< of the output gate; 0: not narrow
  bool operator==(const StateSpec&) const = default;
};

enum class MixerKind : std::uint8_t { kNone, kAttention, kLatent, kCompressed, kState };

/// How the tokens of a layer see each other.
struct MixerSpec {
  MixerKind kind = MixerKind::kAttention;
  std::uint32_t heads = 0, kv_heads = 0, head_dim = 0;
  std::uint32_t v_dim = 0;       ///< of a value; 0: head_dim
  std::uint32_t window = 0;      ///< keys that a token sees; 0: all before it
  bool gate = false;             ///< the output of each head is multiplied by a gate as wide as it
  bool keys_are_values = false;  ///< one matrix for both
  bool qk_norm = false;          ///< every head's query and key pass through a norm of their own
  LatentAttentionSpec latent;    ///< of kLatent; q_rank of kCompressed too
  IndexerSpec indexer;
  CompressionSpec compression;  ///< of kCompressed
  StateSpec state;              ///< of kState
  bool operator==(const MixerSpec&) const = default;
};

struct LayerKind {
  MixerSpec mixer;
  std::uint32_t ffn = 0;  ///< width of a dense MLP; 0: there is none
  bool experts = false;   ///< routed experts (ModelSpec::moe) instead
  bool has_mixer() const { return mixer.kind != MixerKind::kNone; }
  bool has_mlp() const { return experts || ffn > 0; }
  bool operator==(const LayerKind&) const = default;
};

}  // namespace busbar::workload
