#include "busbar/workload/memory.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/workload/buckets.h"
#include "busbar/workload/pipeline_order.h"

namespace busbar {
namespace {

constexpr std::uint64_t kBf16 = 2, kFp32 = 4;
constexpr std::uint64_t kOptimizerBytes = 12;  // fp32 master copy, momentum, variance

// Assumption, not measured: CUDA context and libraries about 1 GiB, NCCL buffers of three communicators (TP, DP, PP)
// about 1 GiB, cuBLAS and attention workspace and allocator slack about 2 GiB.
constexpr std::uint64_t kWorkspace = 4ull << 30;

/// Products of large sizes do not wrap around: above 2^60 bytes all are equally too much.
Bytes capped(double bytes) { return Bytes{static_cast<std::uint64_t>(std::min(bytes, 0x1p60))}; }

double gigabytes(Bytes b) { return static_cast<double>(count(b)) * 1e-9; }

}  // namespace

std::uint64_t activation_bytes_per_layer(const ModelSpec& m, const LayoutSpec& l) {
  // With sequence parallelism everything is cut by tp; without it the inputs of norms and of column-parallel GEMMs,
  // 8 bytes per hidden element, are whole on every GPU.
  const std::uint64_t whole = 8ull * m.hidden;  // two norm inputs, two GEMM inputs
  const std::uint64_t q = static_cast<std::uint64_t>(m.heads) * m.head_dim;
  const std::uint64_t kv = static_cast<std::uint64_t>(m.kv_heads) * m.head_dim;
  const std::uint64_t attention = 4 * q + 4 * kv;  // query and attention output; key and value: bf16 each
  const std::uint64_t mlp = (m.gated_mlp ? 6ull : 4ull) * m.ffn;  // up (and gate) output, input of the down GEMM
  const std::uint64_t statistics = kFp32 * m.heads;               // log-sum-exp of the softmax
  const std::uint64_t cut = attention + mlp + statistics;
  return l.tokens() * ((l.sequence_parallel ? whole / l.tp : whole) + cut / l.tp);
}

std::uint32_t chunks_in_flight(const LayoutSpec& l, std::uint32_t stage) {
  // A stage has its warm-up passes in flight and runs one more forward before each backward.
  const std::uint32_t passes = l.micro_batches() * l.vpp;
  return std::min(passes, warmup_steps(stage, l.pp, l.vpp, l.micro_batches()) + 1);
}

MemoryUse stage_memory(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage) {
  const std::uint64_t local = stage_parameters(m, l, stage);
  const std::uint64_t shard = l.shards_optimizer() ? (local + l.dp - 1) / l.dp : local;
  const std::uint64_t layers_per_chunk = m.layers / (l.pp * l.vpp);
  MemoryUse use;
  use.stage = stage;
  use.parameters = Bytes{local * l.parameter_bytes};
  use.gradients = Bytes{local * l.gradient_bytes};
  use.optimizer = Bytes{shard * kOptimizerBytes};
  use.activations = capped(static_cast<double>(chunks_in_flight(l, stage)) * static_cast<double>(layers_per_chunk) *
                           static_cast<double>(activation_bytes_per_layer(m, l)));
  if (stage + 1 == l.pp) {
    const std::uint64_t vocab = (m.vocab + l.tp - 1) / l.tp;
    use.logits = Bytes{l.tokens() * vocab * (kBf16 + kFp32)};
  }
  use.workspace = Bytes{kWorkspace};
  return use;
}

MemoryUse memory_use(const ModelSpec& model, const LayoutSpec& layout) {
  MemoryUse most = stage_memory(model, layout, 0);
  for (std::uint32_t s = 1; s < layout.pp; ++s) {
    const MemoryUse use = stage_memory(model, layout, s);
    if (count(use.total()) > count(most.total())) most = use;
  }
  return most;
}

Status check_fits(const MemoryUse& use, Bytes capacity) {
  if (count(use.total()) <= count(capacity)) return {};
  return Error{
      ErrorCode::kDoesNotFit,
      fmt::format("stage {} needs {:.1f} GB per GPU, which has {:.1f} GB: parameters {:.1f}, gradients {:.1f}, "
                  "optimizer {:.1f}, activations {:.1f}, logits {:.1f}, workspace {:.1f} GB; raise tp or pp, "
                  "or lower micro_batch",
                  use.stage, gigabytes(use.total()), gigabytes(capacity), gigabytes(use.parameters),
                  gigabytes(use.gradients), gigabytes(use.optimizer), gigabytes(use.activations), gigabytes(use.logits),
                  gigabytes(use.workspace)),
      {}};
}

}  // namespace busbar
