// What one training step needs in the memory of a GPU, by part.
#pragma once

#include <cstdint>

#include "busbar/base/units.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar {

/// Bytes on one GPU of the pipeline stage that needs most, at the moment it needs most.
struct MemoryUse {
  Bytes parameters{0};
  Bytes gradients{0};
  Bytes optimizer{0};    ///< fp32 master copy and two moments, sharded with ZeRO-1
  Bytes activations{0};  ///< kept for the backward passes in flight
  Bytes logits{0};       ///< last stage: bf16 logits and their fp32 copy
  Bytes gathered{0};     ///< ZeRO-3: units whose parameters and gradients are whole at the moment
  Bytes recomputed{0};   ///< full recomputation: tensors of the layer that is being computed again
  Bytes workspace{0};    ///< communication buffers, GEMM workspace, CUDA context
  std::uint32_t stage = 0;
  Bytes total() const {
    return Bytes{count(parameters) + count(gradients) + count(optimizer) + count(activations) + count(logits) +
                 count(workspace) + count(gathered) + count(recomputed)};
  }
};

/// Source: Megatron-LM docs, dist_optimizer (states per parameter); Korthikanti et al. 2022 (arXiv:2205.05198) for what
/// a layer keeps, counted again for gated MLPs and grouped-query attention with flash attention (docs/models/step.md).
/// Precondition: a resolved layout.
MemoryUse memory_use(const ModelSpec& model, const LayoutSpec& layout);
/// The same for one stage.
MemoryUse stage_memory(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage);

/// Bytes that one layer keeps of one micro-batch until its backward pass, on one GPU.
std::uint64_t activation_bytes_per_layer(const ModelSpec& model, const LayoutSpec& layout);
/// What full recomputation keeps of it instead: the input.
std::uint64_t checkpoint_bytes_per_layer(const ModelSpec& model, const LayoutSpec& layout);
/// Model chunks (layers of a virtual stage) whose activations a stage holds at most at one time.
std::uint32_t chunks_in_flight(const LayoutSpec& layout, std::uint32_t stage);

/// `layout` with the least recomputation that fits in `capacity`: none, then attention cores, then more and more whole
/// layers of each chunk. Frameworks leave that choice to people, who choose like this.
LayoutSpec least_recomputation(const ModelSpec& model, const LayoutSpec& layout, Bytes capacity);

/// kDoesNotFit with all figures when `use` is above `capacity`.
Status check_fits(const MemoryUse& use, Bytes capacity);

}  // namespace busbar
