// Durations of the pieces of one layer on one GPU, for one micro-batch: the bridge from kernels to operations.
#pragma once

#include "busbar/workload/kernels.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar {

/// Half a layer: norm, a column-parallel GEMM (`in`), what lies between (`middle`), a row-parallel GEMM (`out`).
/// Attention and MLP both have this form. Residual adds are counted with the norms.
struct BlockTimes {
  Duration norm, in, middle, out;              // forward
  Duration out_dgrad, out_wgrad, middle_back;  // backward, in this order
  Duration in_dgrad, in_wgrad, norm_back;
  Duration core, core_back;  ///< part of middle and middle_back: attention itself, which context parallelism cuts
  Duration forward() const { return norm + in + middle + out; }
  Duration backward() const { return out_dgrad + out_wgrad + middle_back + in_dgrad + in_wgrad + norm_back; }
};

/// What the first and the last stage do beside layers.
struct EndTimes {
  Duration embedding, embedding_back;
  Duration head_norm, head_norm_back;
  Duration logits, logits_dgrad, logits_wgrad;
  Duration loss, loss_back;  ///< softmax and cross-entropy over the vocabulary shard
};

struct StepTimes {
  BlockTimes attention, mlp;
  EndTimes ends;
  Duration overhead;  ///< per step, outside all kernels
};

/// Per-GPU times of `layout`'s micro-batch. HBM traffic counted per kernel in layer_times.cc, each with its reason.
StepTimes step_times(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels);

/// HBM time to clear gradients and to find their norm, then to update `shard` parameters out of `local` on this GPU.
struct OptimizerTimes {
  Duration norm, update;
};
OptimizerTimes optimizer_times(std::uint64_t local, std::uint64_t shard, const LayoutSpec& layout,
                               const KernelTable& kernels);

}  // namespace busbar
