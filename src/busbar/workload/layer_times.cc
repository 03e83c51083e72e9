#include "busbar/workload/layer_times.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "busbar/workload/batch.h"
#include "busbar/workload/expert_load.h"
#include "busbar/workload/internal/layer_split.h"
#include "busbar/workload/internal/trained.h"

namespace busbar::workload {
namespace {

// HBM bytes per element of memory-bound kernels, bf16 activations, each tensor read or written once per kernel.
constexpr double kNormBytes = 10;       // residual add: read 2, write 1; norm: read 1, write 1
constexpr double kNormBackBytes = 12;   // norm: read x and dy, write dx; residual add: read 2, write 1
constexpr double kNormAgainBytes = 4;   // the norm alone: read 1, write 1
constexpr double kRotaryBytes = 4;      // read, write
constexpr double kGateBytes = 6;        // read both halves, write one
constexpr double kGateBackBytes = 10;   // read dy and both halves, write both
constexpr double kActivationBytes = 4;  // read, write
constexpr double kActivationBackBytes = 6;
constexpr double kEmbeddingBytes = 4;       // gather rows, write
constexpr double kEmbeddingBackBytes = 10;  // read dy; read and write the fp32 gradient rows
// Vocabulary-parallel cross-entropy in fp32, unfused: to fp32 (2+4), maximum (4), subtract (8), exponent (8), sum (4).
constexpr double kLossBytes = 30;
constexpr double kLossBackBytes = 14;  // scale in place (8), to bf16 (4+2)
constexpr double kGradientWord = 2;
// Rows that are not a multiple of 16 bytes long need narrower loads. Source: stas00/ml-engineering,
// compute/accelerator: a SwiGLU of 4096 on H100 reaches 398 TFLOP/s with 10,944 hidden elements and 273 with 10,922.
constexpr double kUnaligned = 398.0 / 273;
// Quantisation for the tensor units, per element of a GEMM's input: read 2, write the values and their transpose, 1
// each.
constexpr double kCastBytes = 4;
// int8 with scales of whole rows (google/aqt, dynamic quantisation): read for the largest value, read again, write one
// byte. Inputs and gradients are cast for two products along different sides, weights for the two that read them.
constexpr double kRowCastBytes = 5;
constexpr double kFusedCastBytes = 2;  // after a norm or an activation, which already has the values: only the writes

// Routed experts, per element of a token's copy: read and write once for the order of experts; read copies and write
// the sum for the order of tokens.
constexpr double kPermuteBytes = 4, kCollectBytes = 2, kWordBytes = 2;
// Fused experts: GEMMs write the activation's output and its transpose in 8 bits, and read both halves again backward.
constexpr double kFusedGateBytes = 2, kFusedGateBackBytes = 4;
// They run in one CUDA graph with buffers of fixed size. What the backward pass needs is copied out of them (a read and
// a write) and back. Source: Megatron-Core, moe_paged_stash (2026): the input in 8 bits and the first product's output.
constexpr double kStashPasses = 2, kNarrowWord = 1;
constexpr double kRouterBytes = 12;  // of the router, in fp32: write, softmax and choice read and write
constexpr int kRouteKernels = 8, kCollectKernels = 2;
// Kernels per expert and product in 8 or 4 bits: the cast of an input, the order of both inputs' scales, the product.
// Source: Transformer Engine 2, GroupedLinear: each runs once for each expert.
constexpr int kNarrowExpertKernels = 4;
// Biases of experts, per element of a copy's output. Megatron-Core adds the last one itself, expert by expert: bias x
// score in fp32 (write 4), sum (2+4+4), all experts in one tensor (4+4), to bf16 (4+2). Backward: to fp32 (2+4), to
// bf16 (4+2), all experts in one tensor (2+2), products with score and bias and their sums (4+4+4 each).
// Source: Megatron-Core, TEGroupedMLP._apply_bias (2025). Fused kernels add it, and read the gradient once more.
constexpr double kBiasBytes = 28, kBiasBackBytes = 40, kFusedBiasBackBytes = 2;
constexpr int kBiasKernels = 2, kBiasBackKernels = 6;  // for each expert

// An adapter's output, or the gradient of its input, is added to the matrix's: read both, write the sum.
constexpr double kAdapterSumBytes = 6;
constexpr int kAdapterKernels = 3;  // two products and the sum

// Kernels launched per piece; 80 per layer in all. Megatron layers have 60-100, forward and backward together.
constexpr int kNormKernels = 3, kAttentionKernels = 12, kMlpKernels = 8, kNormBackKernels = 4;
constexpr int kAttentionBackKernels = 24, kMlpBackKernels = 10, kGradKernels = 3;

/// Sizes every piece needs.
struct Shapes {
  const ModelSpec& m;
  const LayoutSpec& l;
  const KernelTable& k;
  std::uint64_t tokens, hidden;
  double shard_elements;  ///< of the hidden state between the TP regions
  Precision precision;    ///< of the layers' matrix products

  Shapes(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels)
      : m(model),
        l(layout),
        k(kernels),
        tokens(layout.tokens()),
        hidden(model.hidden),
        shard_elements(static_cast<double>(tokens) * static_cast<double>(hidden) /
                       (layout.sequence_parallel ? layout.tp : 1)),
        precision(layout.precision) {}
  Duration floor(Duration d, int kernel_count) const {
    return l.cuda_graphs ? d : std::max(d, k.launch * kernel_count);
  }
  Duration forward(std::uint64_t n, std::uint64_t inner) const {
    return aligned(k.gemm_time(tokens, n, inner, precision), n, inner, precision) + cast_weights(n * inner, precision);
  }
  /// Weights in NF4 become bf16 for each product. In int8 they are cast; in other precisions optimizers keep weights as
  /// products read them.
  Duration cast_weights(std::uint64_t elements, Precision p) const {
    if (l.adapters.any() && l.adapters.base == BaseWeights::kNf4)
      return memory(static_cast<double>(elements), base_weight_bytes(l.adapters) + kWordBytes);
    return p == Precision::kInt8 ? memory(static_cast<double>(elements), kRowCastBytes) : Duration{};
  }
  Duration dgrad(std::uint64_t n, std::uint64_t inner, Precision p) const {
    const Duration d = aligned(k.gemm_time(tokens, inner, n, p), n, inner, p);
    return floor(d + cast_weights(n * inner, p), kGradKernels);
  }
  /// The time of a product whose rows of weights or activations are not whole loads.
  static Duration aligned(Duration d, std::uint64_t n, std::uint64_t inner, Precision p) {
    const std::uint64_t elements = p == Precision::kFp4 ? 32 : is_narrow(p) ? 16 : 8;
    const bool whole = n % elements == 0 && inner % elements == 0;
    return whole ? d : duration_from_ps(static_cast<double>(d.in_ps()) * kUnaligned);
  }
  /// Accumulation into the main gradient: a read and a write instead of one 16-bit write.
  Duration wgrad(std::uint64_t n, std::uint64_t inner, Precision p) const {
    if (l.adapters.any()) return {};
    const double extra = 2.0 * l.exchange.gradient_bytes - kGradientWord;
    const Duration d = k.gemm_time(n, inner, tokens, p, extra * static_cast<double>(n * inner));
    return floor(aligned(d, n, inner, p), kGradKernels);
  }
  Duration cast(std::uint64_t columns, double bytes) const {
    if (!is_narrow(precision)) return {};
    return memory(static_cast<double>(tokens * columns), precision == Precision::kInt8 ? 2 * kRowCastBytes : bytes);
  }
  Duration memory(double elements, double bytes) const { return k.memory_time(elements * bytes); }
};

/// Adapters beside matrices, for `rows` tokens in each of `groups` products: the narrow products, and the sum with what
/// the matrix itself gives (forward the output, backward the input's gradient).
void add_adapters(const Shapes& s, const std::vector<AdaptedMatrix>& matrices, std::uint64_t rows, std::uint32_t groups,
                  auto& b) {
  const std::uint64_t r = s.l.adapters.rank;
  const auto product = [&](std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    return s.k.gemm_time(m, n, k, Precision::kBf16, 0, groups);
  };
  const auto sum = [&](std::uint64_t columns) {
    return s.memory(static_cast<double>(rows * columns * groups), kAdapterSumBytes);
  };
  for (const AdaptedMatrix& x : matrices) {
    (x.output ? b.out : b.in) +=
        s.floor(product(rows, r, x.inner) + product(rows, x.columns, r) + sum(x.columns), kAdapterKernels);
    (x.output ? b.out_dgrad : b.in_dgrad) +=
        s.floor(product(rows, r, x.columns) + product(rows, x.inner, r) + sum(x.inner), kAdapterKernels);
    (x.output ? b.out_wgrad : b.in_wgrad) +=
        s.floor(product(x.inner, r, rows) + product(r, x.columns, rows), kAdapterKernels - 1);
  }
}

void add_norms(const Shapes& s, auto& b) {
  b.norm = s.floor(s.memory(s.shard_elements, kNormBytes), kNormKernels);
  const double again = s.l.recomputes(&RecomputeModules::layernorm) ? kNormAgainBytes : 0;
  b.norm_back = s.floor(s.memory(s.shard_elements, kNormBackBytes + again), kNormBackKernels);
}

/// Lengthens the middle of launch-bound pieces, so that the sum is right.
void stretch(const Shapes& s, BlockTimes& b, int forward_kernels, int backward_kernels) {
  const Duration forward = b.in + b.middle + b.out;
  b.middle += s.floor(forward, forward_kernels) - forward;
  const Duration backward = b.out_dgrad + b.out_wgrad + b.middle_back;
  b.middle_back += s.floor(backward, backward_kernels) - backward;
}

/// Sums of matrix products of the halves of a layer. `rows` is the number of tokens that one of them sees.
struct Product {
  std::uint64_t rows, n, inner;
};

Duration forward_of(const Shapes& s, const std::vector<Product>& products) {
  Duration sum;
  for (const Product& p : products)
    sum += s.k.gemm_time(p.rows, p.n, p.inner, s.precision) + s.cast_weights(p.n * p.inner, s.precision);
  return sum;
}
Duration dgrad_of(const Shapes& s, const std::vector<Product>& products) {
  Duration sum;
  for (const Product& p : products) {
    const Duration d = s.k.gemm_time(p.rows, p.inner, p.n, s.precision) + s.cast_weights(p.n * p.inner, s.precision);
    sum += s.floor(d, kGradKernels);
  }
  return sum;
}
Duration wgrad_of(const Shapes& s, const std::vector<Product>& products) {
  const double extra = 2.0 * s.l.exchange.gradient_bytes - kGradientWord;
  Duration sum;
  if (s.l.adapters.any()) return sum;
  for (const Product& p : products) {
    const double bytes = extra * static_cast<double>(p.n * p.inner);
    sum += s.floor(s.k.gemm_time(p.n, p.inner, p.rows, s.precision, bytes), kGradKernels);
  }
  return sum;
}

/// A kernel computes whole blocks of scores: those at both edges of a window are half empty, as those on the diagonal
/// are without one.
double kernel_share(const MixerSpec& mixer, std::uint32_t seq, double block) {
  const double causal = seq / 2.0, share = key_share(mixer, seq), keys = share * causal;
  if (share >= 1) return 1;
  return std::min(1.0, (std::max(keys, block) + block) / (causal + block / 2));
}

/// The same over the documents of a sequence, against a causal kernel over the whole of it.
double document_share(const MixerSpec& mixer, const Batch& batch, double block) {
  if (batch.documents.empty()) return kernel_share(mixer, batch.seq, block);
  double scores = 0, tokens = 0;
  for (const std::uint32_t length : document_pieces(batch)) {
    scores += length * (length + block) * kernel_share(mixer, length, block);
    tokens += length;
  }
  return scores / (tokens * (batch.seq + block));
}

/// The scores of an indexer: one product of all queries with half of the keys, summed over heads before it is written.
Duration indexer_time(const Shapes& s, const MixerSpec& mixer) {
  const IndexerSpec& i = mixer.indexer;
  if (i.heads == 0) return {};
  const std::uint64_t keys = std::max<std::uint64_t>(1, s.l.batch.seq / 2 / std::max(1u, mixer.compression.ratio));
  const std::uint64_t queries = std::max<std::uint64_t>(1, s.tokens * i.heads / s.l.tp);
  const double unwritten = -kWordBytes * static_cast<double>(queries * keys) * (i.heads - 1.0) / i.heads;
  return s.k.gemm_time(queries, keys, i.dim, s.precision, unwritten);
}

void add_core(const Shapes& s, BlockTimes& b, const MixerSpec& mixer, Duration rotary) {
  const std::uint32_t heads = mixer.heads / s.l.tp;
  const double share = document_share(mixer, s.l.batch, s.k.attention_block);
  const auto core = [&](bool backward) {
    const bool all_to_all = s.l.context == ContextParallel::kAllToAll;  // then a rank has few heads, whole sequences
    const Duration whole =
        s.k.attention_time(s.l.attention, all_to_all ? heads / s.l.cp : heads, s.l.batch.seq, attention_width(mixer),
                           s.l.batch.micro, all_to_all ? 1 : s.l.cp, backward);
    return duration_from_ps(static_cast<double>(whole.in_ps()) * share) + indexer_time(s, mixer) * (backward ? 2 : 1);
  };
  b.core = core(false);
  b.core_back = core(true);
  b.middle = rotary + b.core;
  if (s.l.recomputes(&RecomputeModules::core_attn)) b.core_back += b.core;
  b.middle_back = rotary + b.core_back;
}

/// What a rank multiplies before the core, or after it.
std::vector<Product> products_of(const Shapes& s, const MixerSpec& mixer, bool output) {
  const std::uint64_t piece = s.tokens / (s.l.sequence_parallel ? s.l.tp : 1);
  std::vector<Product> out;
  for (const Matrix& x : mixer_matrices(mixer, s.hidden)) {
    if (x.output != output) continue;
    if (x.cut == MatrixCut::kWhole) out.push_back({piece, x.columns, x.inner});
    if (x.cut == MatrixCut::kColumns)
      out.push_back({s.tokens, std::max<std::uint64_t>(1, x.columns / s.l.tp), x.inner});
    if (x.cut == MatrixCut::kRows) out.push_back({s.tokens, x.columns, x.inner / s.l.tp});
  }
  return out;
}

/// Products and norms around a core that is known.
void add_products(const Shapes& s, const MixerSpec& mixer, BlockTimes& b) {
  const std::vector<Product> in = products_of(s, mixer, false), out = products_of(s, mixer, true);
  const std::uint64_t values = out.front().inner;
  b.in = forward_of(s, in) + s.cast(s.hidden, kFusedCastBytes);
  b.out = forward_of(s, out) + s.cast(values, kCastBytes);
  b.out_dgrad = dgrad_of(s, out) + s.cast(s.hidden, kCastBytes);
  b.out_wgrad = wgrad_of(s, out);
  b.in_dgrad = dgrad_of(s, in) + s.cast(in.front().n, kCastBytes);
  b.in_wgrad = wgrad_of(s, in);
}

/// Multi-head latent attention: queries, keys and values through narrow matrices, which every TP rank holds and applies
/// to its piece of the sequence; then up to this rank's heads.
BlockTimes latent_attention_times(const Shapes& s, const MixerSpec& mixer) {
  const LatentAttentionSpec& a = mixer.latent;
  const std::uint32_t heads = mixer.heads / s.l.tp, query = a.nope_dim + a.rope_dim;
  const std::uint64_t piece = s.tokens / (s.l.sequence_parallel ? s.l.tp : 1), out = std::uint64_t{heads} * a.v_dim;
  const std::vector<Product> in = products_of(s, mixer, false);
  const Duration norms = s.memory(static_cast<double>(piece) * (a.q_rank + a.kv_rank), kActivationBytes);
  BlockTimes b;
  add_norms(s, b);
  add_core(s, b, mixer, s.memory(static_cast<double>(s.tokens) * heads * (query + a.nope_dim), kRotaryBytes));
  b.in = forward_of(s, in) + norms + s.cast(s.hidden, kFusedCastBytes) + s.cast(a.q_rank + a.kv_rank, kFusedCastBytes);
  b.out = forward_of(s, {{s.tokens, s.hidden, out}}) + s.cast(out, kCastBytes);
  b.out_dgrad = dgrad_of(s, {{s.tokens, s.hidden, out}}) + s.cast(s.hidden, kCastBytes);
  b.out_wgrad = wgrad_of(s, {{s.tokens, s.hidden, out}});
  b.in_dgrad = dgrad_of(s, in) + norms + s.cast(std::uint64_t{heads} * (query + a.nope_dim + a.v_dim), kCastBytes);
  b.in_wgrad = wgrad_of(s, in);
  if (s.l.recomputes(&RecomputeModules::mla_up_proj)) b.middle_back += forward_of(s, {in[1], in[2]});
  stretch(s, b, kAttentionKernels, kAttentionBackKernels);
  return b;
}

/// Keys are values, and far ones are sums over several tokens. The rank's queries are all of its heads.
BlockTimes compressed_attention_times(const Shapes& s, const MixerSpec& mixer) {
  BlockTimes b;
  add_norms(s, b);
  const double elements = static_cast<double>(s.tokens) * (mixer.heads / s.l.tp + 1) * mixer.head_dim;
  add_core(s, b, mixer, s.memory(elements, kRotaryBytes));
  add_products(s, mixer, b);
  stretch(s, b, kAttentionKernels, kAttentionBackKernels);
  return b;
}

/// Chunks of tokens: scores inside, then the state is read and updated. A delta rule solves a triangular system for
/// each chunk first: products of keys, and two with its inverse. Source: the kernels of the papers at StateRule.
Duration state_core_time(const Shapes& s, const StateSpec& state, std::uint32_t heads) {
  if (state.rule == StateRule::kConvolution) return {};
  const std::uint64_t c = state.chunk, k = state.key_dim, v = state.value_dim;
  const auto chunks = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, s.tokens / c) * heads);
  const auto product = [&](std::uint64_t rows, std::uint64_t columns, std::uint64_t inner) {
    return s.k.gemm_time(rows, columns, inner, Precision::kBf16, 0, chunks);
  };
  Duration sum = product(c, c, k) + product(c, v, c) + product(k, v, c) + product(c, v, k);
  if (state.rule == StateRule::kDelta) sum += product(c, c, k) + product(c, k, c) + product(c, v, c);
  return sum;
}

BlockTimes state_times(const Shapes& s, const MixerSpec& mixer) {
  const StateSpec& state = mixer.state;
  const std::uint32_t heads = std::max(1u, state.heads / s.l.tp), keys = std::max(1u, state.key_heads / s.l.tp);
  const auto tokens = static_cast<double>(s.tokens);
  const double values = tokens * heads * state.value_dim, all = 2 * tokens * keys * state.key_dim + values;
  const double convolved = state.conv > 0 ? all : 0;
  BlockTimes b;
  add_norms(s, b);
  const Duration core = state_core_time(s, state, heads);  // backward: twice the products, and states again
  b.core = core;
  b.core_back = core * 3;
  b.middle = s.memory(convolved, kActivationBytes) + b.core + s.memory(values, kGateBytes);
  b.middle_back = s.memory(convolved, kActivationBackBytes) + b.core_back + s.memory(values, kGateBackBytes);
  add_products(s, mixer, b);
  stretch(s, b, kAttentionKernels, kAttentionBackKernels);
  return b;
}

BlockTimes attention_times(const Shapes& s, const MixerSpec& mixer) {
  const std::uint32_t heads = mixer.heads / s.l.tp, kv = std::max(1u, mixer.kv_heads / s.l.tp), d = mixer.head_dim;
  const std::uint32_t v = mixer.v_dim > 0 ? mixer.v_dim : d;
  const std::uint64_t out = static_cast<std::uint64_t>(heads) * v;
  const std::uint64_t in =
      std::uint64_t{heads} * d + std::uint64_t{kv} * (d + (mixer.keys_are_values ? 0 : v)) + (mixer.gate ? out : 0);
  BlockTimes b;
  add_norms(s, b);
  const double queries_and_keys = static_cast<double>(s.tokens) * (heads + kv) * d;
  add_core(s, b, mixer, s.memory(queries_and_keys, kRotaryBytes));
  if (mixer.qk_norm) {
    b.middle += s.memory(queries_and_keys, kActivationBytes);
    b.middle_back += s.memory(queries_and_keys, kActivationBackBytes);
  }
  if (mixer.gate) {
    b.middle += s.memory(static_cast<double>(s.tokens * out), kGateBytes);
    b.middle_back += s.memory(static_cast<double>(s.tokens * out), kGateBackBytes);
  }
  b.in = s.forward(in, s.hidden) + s.cast(s.hidden, kFusedCastBytes);
  b.out = s.forward(s.hidden, out) + s.cast(out, kCastBytes);
  b.out_dgrad = s.forward(out, s.hidden) + s.cast(s.hidden, kCastBytes);
  b.out_wgrad = s.wgrad(s.hidden, out, s.precision);
  b.in_dgrad = s.dgrad(in, s.hidden, s.precision) + s.cast(in, kCastBytes);
  b.in_wgrad = s.wgrad(in, s.hidden, s.precision);
  stretch(s, b, kAttentionKernels, kAttentionBackKernels);
  return b;
}

BlockTimes plain_mixer_times(const Shapes& s, const MixerSpec& mixer) {
  switch (mixer.kind) {
    case MixerKind::kNone:
      return {};
    case MixerKind::kAttention:
      return attention_times(s, mixer);
    case MixerKind::kLatent:
      return latent_attention_times(s, mixer);
    case MixerKind::kCompressed:
      return compressed_attention_times(s, mixer);
    case MixerKind::kState:
      return state_times(s, mixer);
  }
  return {};
}

BlockTimes mixer_times(const Shapes& s, const MixerSpec& mixer) {
  BlockTimes b = plain_mixer_times(s, mixer);
  add_adapters(s, adapted_in_mixer(s.l, mixer, s.hidden), s.tokens, 1, b);
  return b;
}

/// An MLP of `width` cut over TP.
BlockTimes mlp_times(const Shapes& s, std::uint64_t width) {
  const std::uint64_t f = width / s.l.tp, in = (s.m.gated_mlp ? 2 : 1) * f;
  const double elements = static_cast<double>(s.tokens) * static_cast<double>(f);
  BlockTimes b;
  add_norms(s, b);
  b.in = s.forward(in, s.hidden) + s.cast(s.hidden, kFusedCastBytes);
  b.middle = s.memory(elements, s.m.gated_mlp ? kGateBytes : kActivationBytes);
  b.out = s.forward(s.hidden, f) + s.cast(f, kFusedCastBytes);
  b.out_dgrad = s.forward(f, s.hidden) + s.cast(s.hidden, kCastBytes);
  b.out_wgrad = s.wgrad(s.hidden, f, s.precision);
  b.middle_back = s.memory(elements, s.m.gated_mlp ? kGateBackBytes : kActivationBackBytes);
  if (s.l.recomputes(&RecomputeModules::mlp))
    b.middle_back += b.in + b.middle + (s.l.recomputation.early_stop ? Duration{} : b.out);
  else if (s.l.recomputes(&RecomputeModules::act))
    b.middle_back += b.middle;
  b.in_dgrad = s.dgrad(in, s.hidden, s.precision) + s.cast(in, kFusedCastBytes);
  b.in_wgrad = s.wgrad(in, s.hidden, s.precision);
  stretch(s, b, kMlpKernels, kMlpBackKernels);
  add_adapters(s, adapted_in_mlp(s.l, s.m.gated_mlp, s.hidden, width, s.l.tp), s.tokens, 1, b);
  return b;
}

/// GShard's dispatch: one product takes the tokens of a sequence to the places of all experts, by a mask of tokens x
/// places, and one brings them back, by a mask of weights. Nothing is permuted. Backward: a product for the tokens, and
/// two for the places and their weights. Both masks are written once in 16 bits.
/// Source: GShard (arXiv:2006.16668), algorithm 2; MaxText layers/moe.py, dense_matmul with capacity_factor.
void add_masks(const Shapes& s, Duration router, ExpertTimes& t) {
  const std::uint64_t tokens = s.l.batch.seq / s.l.cp, h = routed_hidden(s.m);
  const auto places =
      static_cast<std::uint64_t>(static_cast<double>(tokens) * s.m.moe.per_token * s.l.experts.capacity);
  const auto product = [&](std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    return s.k.gemm_time(m, n, k, Precision::kBf16, 0, s.l.batch.micro);
  };
  const Duration to_places = product(places, h, tokens), to_tokens = product(tokens, h, places);
  const double mask = static_cast<double>(s.l.batch.micro * tokens) * static_cast<double>(places);
  t.route = router + s.memory(2 * mask, kWordBytes) + to_places;
  t.collect = to_tokens;
  t.collect_back = to_places + product(tokens, places, h);
  t.route_back = router * 2 + to_tokens;
}

/// Sizes of one rank's experts under the load of the busiest rank.
ExpertTimes expert_times(const Shapes& s) {
  const ExpertSpec& e = s.m.moe;
  ExpertTimes t;
  if (e.experts == 0) return t;
  const std::uint32_t local = e.experts / s.l.ep;
  const double own = s.l.routed_tokens(), copies = own * e.per_token;  // of this rank, before the exchange
  const double arrived = copies * s.l.expert_tensor() * expert_load(s.m, s.l).busiest;
  const auto rows = static_cast<std::uint64_t>(std::max(1.0, arrived / local));
  const std::uint64_t f = e.ffn / s.l.expert_tensor(), in = (s.m.gated_mlp ? 2 : 1) * f, h = routed_hidden(s.m);
  const double extra = (2.0 * s.l.exchange.gradient_bytes - kGradientWord) * local;
  const bool fused = s.l.experts.fused, narrow = is_narrow(s.precision);
  const int launches = static_cast<int>(local) * (narrow ? kNarrowExpertKernels : 1);
  // The host launches as fast as the GPU computes, or the GPU waits for it. One fused kernel has the products of all.
  const auto product = [&](std::uint64_t m, std::uint64_t n, std::uint64_t k, double bytes = 0) {
    const Duration time = s.k.gemm_time(m, n, k, s.precision, bytes, local);
    return fused ? time : std::max(s.floor(time, launches), s.l.experts.launch * launches);
  };
  // A cast of its own. Inside fused kernels the outputs of the activation and its gradient are cast for nothing.
  const auto cast = [&](std::uint64_t columns, bool in_fused) {
    const bool apart = narrow && !(fused && in_fused);
    return apart ? s.memory(arrived * static_cast<double>(columns), kCastBytes) : Duration{};
  };
  const double kept = fused ? arrived * static_cast<double>(kNarrowWord * h + kWordBytes * static_cast<double>(in)) : 0;
  const Duration stash = s.memory(kept, kStashPasses);
  const auto moved = [&](double elements, double bytes) { return s.memory(elements * static_cast<double>(h), bytes); };
  const double scores = own * e.experts;
  const Duration router =
      s.k.gemm_time(static_cast<std::uint64_t>(own), e.experts, s.hidden) + s.memory(scores, kRouterBytes);
  // Tokens are narrowed before they leave, and widened where they come back.
  const auto resize = [&](std::uint64_t n, std::uint64_t inner) {
    return e.hidden > 0 ? s.k.gemm_time(static_cast<std::uint64_t>(own), n, inner, s.precision) : Duration{};
  };
  const Duration narrowed = resize(h, s.hidden), widened = resize(s.hidden, h);
  // An all-to-all leaves copies in the order of their senders: a copy puts them in the order of experts, and one back.
  // Source: Megatron-Core, MoEAlltoAllTokenDispatcher (chunks are sorted where a rank has several experts).
  const bool sorts = s.l.ep > 1 && local > 1 && s.l.experts.exchange == ExpertExchange::kAllToAll;
  const Duration sort = sorts ? moved(arrived, 2 * kPermuteBytes) : Duration{};
  add_norms(s, t);
  const double gate = fused ? kFusedGateBytes : s.m.gated_mlp ? kGateBytes : kActivationBytes;
  const double gate_back = fused ? kFusedGateBackBytes : s.m.gated_mlp ? kGateBackBytes : kActivationBackBytes;
  t.route = s.floor(router + narrowed + moved(copies, kPermuteBytes), kRouteKernels);
  t.in = product(rows, in, h) + cast(h, false);
  t.middle = s.memory(arrived * static_cast<double>(f), gate);
  t.out = product(rows, h, f) + cast(f, true) + stash;
  t.collect = s.floor(moved(copies, kCollectBytes) + moved(own, kWordBytes) + widened, kCollectKernels);
  t.collect_back = s.floor(moved(copies, kPermuteBytes) + widened * 2, kCollectKernels);
  t.out_dgrad = product(rows, f, h) + cast(h, false) + stash;
  t.out_wgrad = product(h, f, rows, extra * static_cast<double>(h * f));
  t.middle_back = s.memory(arrived * static_cast<double>(f), gate_back);
  if (s.l.recomputes(&RecomputeModules::act)) t.middle_back += t.middle;
  t.middle += sort;
  t.middle_back += sort;
  t.in_dgrad = product(rows, h, in) + cast(in, true);
  t.in_wgrad = product(in, h, rows, extra * static_cast<double>(in * h));
  t.route_back = s.floor(router * 2 + narrowed * 2 + moved(copies, kCollectBytes), kRouteKernels);
  if (s.l.adapters.any()) {
    t.out_wgrad = t.in_wgrad = {};
    const Duration up = s.cast_weights(local * in * h, s.precision), down = s.cast_weights(local * h * f, s.precision);
    t.in += up;
    t.in_dgrad += up;
    t.out += down;
    t.out_dgrad += down;
    add_adapters(s, adapted_in_mlp(s.l, s.m.gated_mlp, h, e.ffn, s.l.expert_tensor()), rows, local, t);
  }
  if (s.l.experts.masks) add_masks(s, router, t);
  if (e.biases) {
    const auto per_expert = [&](double bytes, int kernels) {
      const Duration hosts = fused ? Duration{} : s.l.experts.launch * (kernels * static_cast<int>(local));
      return std::max(s.memory(arrived * static_cast<double>(h), bytes), hosts);
    };
    // The first product's bias is added by the product. Its gradient in 16 bits is one more read; casts sum it for
    // nothing.
    const double first = narrow ? 0 : kWordBytes * static_cast<double>(in) / static_cast<double>(h);
    if (!fused) t.out += per_expert(kBiasBytes, kBiasKernels);
    t.out_dgrad += per_expert(fused ? kFusedBiasBackBytes : kBiasBackBytes + first, kBiasBackKernels);
  }
  if (e.shared > 0) {
    t.shared = mlp_times(s, std::uint64_t{e.shared} * e.ffn);
    t.shared.norm = t.shared.norm_back = {};
  }
  return t;
}

EndTimes end_times(const Shapes& s) {
  const double states = static_cast<double>(s.tokens) * static_cast<double>(s.hidden);
  constexpr std::uint64_t kLoad = 32;  // elements; the vocabulary is padded
  const std::uint64_t vocab = ((s.m.vocab + s.l.tp - 1) / s.l.tp + kLoad - 1) / kLoad * kLoad;
  const double logits = static_cast<double>(s.tokens) * static_cast<double>(vocab);
  EndTimes e;
  e.embedding = s.memory(states, kEmbeddingBytes);
  if (!s.l.adapters.any()) e.embedding_back = s.memory(states, kEmbeddingBackBytes);
  e.head_norm = s.memory(s.shard_elements, kNormBytes);
  e.head_norm_back = s.memory(s.shard_elements, kNormBackBytes);
  e.logits = s.k.gemm_time(s.tokens, vocab, s.hidden);
  e.logits_dgrad = s.dgrad(vocab, s.hidden, Precision::kBf16);
  e.logits_wgrad = s.wgrad(vocab, s.hidden, Precision::kBf16);
  if (s.m.mtp > 0) {
    const std::uint64_t width = s.hidden / s.l.tp;
    const Duration norms = s.memory(2 * s.shard_elements, kActivationBytes);
    e.join = norms + s.forward(width, 2 * s.hidden) + s.cast(2 * s.hidden, kFusedCastBytes);
    e.join_dgrad = norms + s.dgrad(width, 2 * s.hidden, s.precision);
    e.join_wgrad = s.wgrad(width, 2 * s.hidden, s.precision);
  }
  e.loss = s.memory(logits, kLossBytes);
  e.loss_back = s.memory(logits, kLossBackBytes);
  return e;
}

}  // namespace

StepTimes step_times(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels) {
  const Shapes s(model, layout, kernels);
  StepTimes t{.layers = layer_table(model), .kinds = {}, .experts = expert_times(s), .ends = end_times(s)};
  for (const LayerKind& kind : t.layers.kinds)
    t.kinds.push_back({mixer_times(s, kind.mixer), kind.ffn > 0 ? mlp_times(s, kind.ffn) : BlockTimes{}});
  return t;
}

namespace {

Duration forward_gemms(const BlockTimes& t) { return t.in + t.out; }
Duration backward_gemms(const BlockTimes& t) { return t.out_dgrad + t.out_wgrad + t.in_dgrad + t.in_wgrad; }

}  // namespace

KernelKinds kernel_kinds(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels,
                         std::uint32_t stage) {
  const StepTimes t = step_times(model, layout, kernels);
  KernelKinds sum;
  const auto add_layer = [&](std::uint32_t layer, bool again) {
    const auto& [attention, mlp] = t.of(layer);
    Duration forward = forward_gemms(attention), backward = backward_gemms(attention);
    if (has_experts(model, layer)) {
      const ExpertTimes& e = t.experts;
      forward += e.in + e.out + forward_gemms(e.shared);
      backward += e.out_dgrad + e.out_wgrad + e.in_dgrad + e.in_wgrad + backward_gemms(e.shared);
    } else {
      forward += forward_gemms(mlp);
      backward += backward_gemms(mlp);
    }
    sum.gemm += forward * (again ? 2 : 1) + backward;
    sum.attention += attention.core * (again ? 2 : 1) + attention.core_back;
  };
  for (std::uint32_t c = 0; c < layout.vpp; ++c) {
    const std::uint32_t chunk = layout.virtual_stage(stage, c), first = first_layer_of(layout, chunk);
    for (std::uint32_t l = 0; l < layers_with_mtp(layout, model, chunk); ++l)
      add_layer(first + l, layout.recomputation.kind == Recompute::kFull && l < recomputed_layers_of(layout, chunk));
  }
  if (stage == layout.last_stage()) {
    const EndTimes& e = t.ends;
    sum.gemm += (e.logits + e.logits_dgrad + e.logits_wgrad) * (1 + model.mtp) + e.join + e.join_dgrad + e.join_wgrad;
  }
  const double passes = layout.micro_batches() * layout.kernel_time / layout.speed_of(stage);
  for (Duration* d : {&sum.gemm, &sum.attention}) *d = duration_from_ps(static_cast<double>(d->in_ps()) * passes);
  return sum;
}

OptimizerTimes optimizer_times(std::uint64_t local, std::uint64_t shard, const LayoutSpec& layout,
                               const KernelTable& kernels) {
  const double clear = static_cast<double>(local) * layout.exchange.gradient_bytes;
  const double norm = static_cast<double>(shard) * layout.exchange.gradient_bytes;
  // The table's figure is of Adam with 12 bytes of states, which are read and written; gradient and weight besides: 30.
  constexpr double kOthers = 6, kAdam = 30;
  const double traffic = (kOthers + 2 * state_bytes(layout.optimizer)) / kAdam;
  const double update = static_cast<double>(shard) * kernels.optimizer_bytes_per_parameter * traffic;
  OptimizerTimes t{.norm = kernels.memory_time(norm), .update = kernels.memory_time(update + clear)};
  if (!layout.offload.optimizer) return t;
  // Gradients go to the host, the CPU updates in host memory, parameters come back.
  const double moved = static_cast<double>(shard) * (layout.exchange.gradient_bytes + layout.exchange.parameter_bytes);
  if (kernels.host_ranks > 0)
    t.to_host = shard * layout.exchange.gradient_bytes, t.from_host = shard * layout.exchange.parameter_bytes;
  const double seconds = (kernels.host_ranks > 0 ? 0 : moved / kernels.host_bytes_per_s) +
                         update / std::max(kernels.host_memory_bytes_per_s, kernels.host_bytes_per_s / 2);
  t.update = duration_from_ps(seconds * 1e12) + kernels.memory_time(clear);
  return t;
}

}  // namespace busbar::workload
