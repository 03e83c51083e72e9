// The GPU memory of one training step, by part.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "busbar/base/units.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

/// Bytes on one GPU of the pipeline stage that needs most, at the time of its greatest need: while the loss is computed
/// (logits) or while a layer is recomputed, whichever needs more; the other of the two is 0.
struct MemoryUse {
  Bytes parameters{0};
  Bytes gradients{0};
  Bytes optimizer{0};    ///< fp32 master copy and two moments; with ZeRO-3 the moments, the shards are the master copy
  Bytes activations{0};  ///< kept for the backward passes in flight
  Bytes logits{0};       ///< last stage: logits and what the loss makes of them
  Bytes gathered{0};     ///< ZeRO-3: units whose parameters and gradients are currently whole
  Bytes recomputed{0};   ///< full recomputation: tensors of the layer being recomputed
  Bytes temporary{0};    ///< sequence parallelism: a GEMM's whole input and its gradient
  Bytes fragmentation{0};  ///< held by the allocator without use
  Bytes workspace{0};      ///< outside the allocator: CUDA context, libraries, buffers of communicators
  std::uint32_t stage = 0;
  /// What PyTorch counts as allocated.
  Bytes allocated() const {
    return Bytes{count(parameters) + count(gradients) + count(optimizer) + count(activations) + count(logits) +
                 count(gathered) + count(recomputed) + count(temporary)};
  }
  /// What PyTorch counts as reserved.
  Bytes reserved() const { return Bytes{count(allocated()) + count(fragmentation)}; }
  Bytes total() const { return Bytes{count(reserved()) + count(workspace)}; }
};

/// The parts by name, in the order of their declaration; they sum to total().
struct MemoryPart {
  const char* name;
  Bytes bytes;
};
std::array<MemoryPart, 10> memory_parts(const MemoryUse& use);

/// Source: Megatron-LM docs, dist_optimizer (states per parameter). Korthikanti et al. 2022 (arXiv:2205.05198) for the
/// tensors that a layer keeps, counted again for gated MLPs and grouped-query attention with flash attention
/// (docs/models/step.md). Precondition: a resolved layout.
MemoryUse memory_use(const ModelSpec& model, const LayoutSpec& layout);
/// The same for one stage.
MemoryUse stage_memory(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage);

/// Bytes of one micro-batch that one layer of a kind keeps on one GPU until its backward pass.
std::uint64_t activation_bytes_per_layer(const ModelSpec& model, const LayoutSpec& layout, const LayerKind& kind);
/// The same of the kind that keeps most.
std::uint64_t most_activation_bytes(const ModelSpec& model, const LayoutSpec& layout);
/// Bytes that full recomputation keeps instead: the layer's input.
std::uint64_t checkpoint_bytes_per_layer(const ModelSpec& model, const LayoutSpec& layout);
/// Bytes per element of the logits while the loss is computed: 0 in chunks.
std::uint64_t bytes_per_logit(const LayoutSpec& layout);
/// The largest number of model chunks (layers of a virtual stage) whose activations a stage holds at one time.
std::uint32_t chunks_in_flight(const LayoutSpec& layout, std::uint32_t stage);

/// `layout` with the least recomputation that fits in `capacity`: none, then attention cores, then more and more whole
/// layers of each chunk. Frameworks leave this choice to their users, who usually choose in this order.
LayoutSpec least_recomputation(const ModelSpec& model, const LayoutSpec& layout, Bytes capacity);

/// Bytes of a rank's part of a checkpoint, per stage: bf16 weight, fp32 master copy and two moments of Adam, 14 bytes
/// per parameter. Ranks that hold the same parameters share the writing, as with Megatron-Core's
/// --ckpt-fully-parallel-save and torch.distributed.checkpoint.
std::vector<double> checkpoint_shares(const ModelSpec& model, const LayoutSpec& layout);

/// kDoesNotFit, with all figures, if `use` is above `capacity`.
Status check_fits(const MemoryUse& use, Bytes capacity);

}  // namespace busbar::workload
