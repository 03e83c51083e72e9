// Durations of the pieces of one layer on one GPU, for one micro-batch.
#pragma once

#include <vector>

#include "busbar/workload/kernels.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

/// Half a layer: norm, a column-parallel GEMM (`in`), the kernels in between (`middle`), a row-parallel GEMM (`out`).
/// Attention and MLP both have this form. Norms include the residual adds.
struct BlockTimes {
  Duration norm, in, middle, out;              // forward
  Duration out_dgrad, out_wgrad, middle_back;  // backward, in this order
  Duration in_dgrad, in_wgrad, norm_back;
  Duration core, core_back;  ///< part of middle and middle_back: the attention core, which context parallelism divides
  Duration forward() const { return norm + in + middle + out; }
  Duration backward() const { return out_dgrad + out_wgrad + middle_back + in_dgrad + in_wgrad + norm_back; }
};

/// Half a layer with routed experts; its slowest rank, where loads differ.
struct ExpertTimes {
  Duration norm, route;      ///< forward: scores, choice of experts, tokens put in order of experts
  Duration in, middle, out;  ///< grouped GEMMs of the rank's experts, and the activation between
  Duration collect;          ///< results put back in order of tokens and summed
  Duration collect_back;
  Duration out_dgrad, out_wgrad, middle_back, in_dgrad, in_wgrad;
  Duration route_back, norm_back;
  BlockTimes shared;  ///< shared experts, without a norm; all zero: there are none
  Duration weights() const { return out_wgrad + in_wgrad; }
  Duration forward() const { return norm + route + in + middle + out + collect + shared.forward(); }
  Duration backward() const {
    return collect_back + out_dgrad + out_wgrad + middle_back + in_dgrad + in_wgrad + route_back + norm_back +
           shared.backward();
  }
};

/// Work of the first and the last stage besides layers.
struct EndTimes {
  Duration embedding, embedding_back;
  Duration head_norm, head_norm_back;
  Duration logits, logits_dgrad, logits_wgrad;
  Duration join, join_dgrad, join_wgrad;  ///< multi-token prediction: two norms, two hidden states projected to one
  Duration loss, loss_back;               ///< softmax and cross-entropy over the vocabulary shard
};

/// The halves of a layer of one kind; zero where it has none.
struct LayerTimes {
  BlockTimes mixer, mlp;
};

struct StepTimes {
  LayerTable layers;
  std::vector<LayerTimes> kinds;  ///< of `layers.kinds`
  ExpertTimes experts;
  EndTimes ends;
  const LayerTimes& of(std::uint32_t layer) const { return kinds[layers.of[layer]]; }
};

/// Per-GPU times of `layout`'s micro-batch. layer_times.cc counts HBM traffic per kernel, each with its reason.
StepTimes step_times(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels);

/// HBM times. norm: clear gradients and compute their norm; update: update `shard` of this GPU's `local` parameters.
struct OptimizerTimes {
  Duration norm, update;
  /// Offload with host memory as an end of transfers: gradients before the update, parameters after it; else in update.
  std::uint64_t to_host = 0, from_host = 0;
};
OptimizerTimes optimizer_times(std::uint64_t local, std::uint64_t shard, const LayoutSpec& layout,
                               const KernelTable& kernels);

/// Work of one kind on a GPU of a stage in one step, recomputation included.
struct KernelKinds {
  Duration gemm, attention;  ///< matrix products, those of experts too; the attention core
};
/// Precondition: `layout` is resolved.
KernelKinds kernel_kinds(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels,
                         std::uint32_t stage);

}  // namespace busbar::workload
