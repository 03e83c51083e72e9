#include "busbar/workload/internal/trained.h"

#include <algorithm>

#include "busbar/workload/internal/layer_split.h"

namespace busbar::workload {
namespace {

void add_adapted(const LayoutSpec& l, std::uint64_t inner, std::uint64_t columns, bool output, std::uint32_t ranks,
                 std::vector<AdaptedMatrix>& out) {
  AdaptedMatrix x{output ? inner / ranks : inner, output ? columns : columns / ranks, output, 0};
  x.parameters = l.adapters.rank * (inner + columns) / ranks;
  out.push_back(x);
}

}  // namespace

std::vector<AdaptedMatrix> adapted_in_mixer(const LayoutSpec& l, const MixerSpec& mixer, std::uint64_t hidden) {
  std::vector<AdaptedMatrix> out;
  const AdapterSpec& a = l.adapters;
  const bool joint = a.on(AdapterTarget::kQkvIn);
  const bool q = a.on(AdapterTarget::kQuery), k = a.on(AdapterTarget::kKey), v = a.on(AdapterTarget::kValue);
  if (mixer.kind == MixerKind::kAttention) {
    const std::uint64_t keys = std::uint64_t{mixer.kv_heads} * mixer.head_dim;
    const std::uint64_t values = std::uint64_t{mixer.kv_heads} * (mixer.v_dim > 0 ? mixer.v_dim : mixer.head_dim);
    const std::uint64_t queries = std::uint64_t{mixer.heads} * mixer.head_dim;
    if (joint) add_adapted(l, hidden, queries + keys + values, false, l.tp, out);
    if (q) add_adapted(l, hidden, queries, false, l.tp, out);
    if (k) add_adapted(l, hidden, keys, false, l.tp, out);
    if (v) add_adapted(l, hidden, values, false, l.tp, out);
  }
  for (const Matrix& x : mixer_matrices(mixer, hidden)) {
    const bool other = !x.output && mixer.kind != MixerKind::kAttention && (joint || q || k || v);
    if (other || (x.output && a.on(AdapterTarget::kOutput))) add_adapted(l, x.inner, x.columns, x.output, l.tp, out);
  }
  return out;
}

std::vector<AdaptedMatrix> adapted_in_mlp(const LayoutSpec& l, bool gated, std::uint64_t hidden, std::uint64_t width,
                                          std::uint32_t ranks) {
  std::vector<AdaptedMatrix> out;
  if (width == 0) return out;
  const AdapterSpec& a = l.adapters;
  if (a.on(AdapterTarget::kMlpIn)) add_adapted(l, hidden, (gated ? 2 : 1) * width, false, ranks, out);
  if (a.on(AdapterTarget::kGate) && gated) add_adapted(l, hidden, width, false, ranks, out);
  if (a.on(AdapterTarget::kUp)) add_adapted(l, hidden, width, false, ranks, out);
  if (a.on(AdapterTarget::kDown)) add_adapted(l, width, hidden, true, ranks, out);
  return out;
}

/// Blocks of 16 values in 4 bits with a scale in 8. Source: NVIDIA, arXiv:2509.25149 (2025), section 2.
constexpr double kNvfp4Bytes = 0.5 + 1.0 / 16;

double base_weight_bytes(const AdapterSpec& a) {
  // Source: QLoRA (arXiv:2305.14314), section 3: blocks of 64 weights with a scale in fp32, or with a scale in 8 bits
  // and one in fp32 for 256 of them.
  constexpr double kBlock = 64, kScales = 256, kFp32 = 4;
  if (a.base == BaseWeights::kBf16) return 2;
  if (a.base == BaseWeights::kFp8) return 1;
  if (a.base == BaseWeights::kNvfp4) return kNvfp4Bytes;
  return 0.5 + (a.double_quantised ? 1 / kBlock + kFp32 / (kBlock * kScales) : kFp32 / kBlock);
}

double moment_bytes(const OptimizerSpec& o) {
  // Scales in fp32 of blocks of 256 (int8) and 128 (int4). Source: pytorch/ao, torchao/optim (2025); fp8 has one for
  // each tensor: Transformer Engine, FusedAdam.
  constexpr double kBytes[] = {4, 2, 1, 1 + 4.0 / 256, 0.5 + 4.0 / 128, kNvfp4Bytes};
  constexpr double kMoments[] = {2, 1, 1, 0, 1};  // of OptimizerKind; Adafactor's rows and columns are few
  return kMoments[static_cast<std::size_t>(o.kind)] * kBytes[static_cast<std::size_t>(o.moments)];
}

double state_bytes(const OptimizerSpec& o) { return o.master_bytes + moment_bytes(o); }

namespace {

/// One matrix made orthogonal.
Duration orthogonal(std::uint64_t m, std::uint64_t n, std::uint32_t steps, const KernelTable& k) {
  const std::uint64_t a = std::min(m, n), b = std::max(m, n);
  return (k.gemm_time(a, a, b) + k.gemm_time(a, a, a) + k.gemm_time(a, b, a)) * steps;
}

/// All matrices of a layer of a kind; `longest` grows to the longest of them.
Duration orthogonal_layer(const ModelSpec& m, const LayoutSpec& l, const LayerKind& kind, const KernelTable& k,
                          Duration& longest) {
  Duration sum;
  const auto add = [&](std::uint64_t inner, std::uint64_t columns, std::uint32_t count) {
    const Duration one = orthogonal(inner, columns, l.optimizer.steps, k);
    longest = std::max(longest, one);
    sum += one * static_cast<std::int64_t>(count);
  };
  const std::uint32_t tp = l.optimizer.tp == MuonTp::kDuplicated ? 1 : l.tp;
  for (const Matrix& x : mixer_matrices(kind.mixer, m.hidden))
    add(x.cut == MatrixCut::kRows ? x.inner / tp : x.inner, x.cut == MatrixCut::kColumns ? x.columns / tp : x.columns,
        1);
  const std::uint64_t width = kind.experts ? std::uint64_t{m.moe.shared} * m.moe.ffn : kind.ffn;
  const std::uint32_t products = m.gated_mlp ? 3 : 2;
  if (width > 0) add(m.hidden, width / tp, products);
  if (kind.experts) add(routed_hidden(m), m.moe.ffn / l.expert_tensor(), products * (m.moe.experts / l.ep));
  return sum;
}

}  // namespace

Duration orthogonal_time(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage, const KernelTable& k) {
  if (l.optimizer.kind != OptimizerKind::kMuon) return {};
  const LayerTable table = layer_table(m);
  Duration longest;
  std::vector<Duration> of_kind;
  for (const LayerKind& kind : table.kinds) of_kind.push_back(orthogonal_layer(m, l, kind, k, longest));
  Duration sum;
  for (std::uint32_t c = 0; c < l.vpp; ++c) {
    const std::uint32_t place = l.virtual_stage(stage, c), first = first_layer_of(l, place);
    for (std::uint32_t i = 0; i < layers_with_mtp(l, m, place); ++i) sum += of_kind[table.of[first + i]];
  }
  if (!l.shards_optimizer()) return sum;
  const Duration share = Duration::ps(sum.in_ps() / l.shard_ranks());
  return gathers_shards_of_momenta(l) ? std::min(sum, share + longest) : std::max(longest, share);
}

}  // namespace busbar::workload
