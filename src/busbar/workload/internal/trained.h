// What is trained of a model, and what the weights that are not trained take.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "busbar/workload/kernels.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/mixer.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

/// A matrix with an adapter: inner -> rank -> columns. Sizes are those of a rank of TP.
struct AdaptedMatrix {
  std::uint64_t inner = 0, columns = 0;
  bool output = false;           ///< after the core of attention, or the second product of an MLP
  std::uint64_t parameters = 0;  ///< of the adapter on this rank; TP divides both of its matrices (Megatron-Core)
};
std::vector<AdaptedMatrix> adapted_in_mixer(const LayoutSpec& layout, const MixerSpec& mixer, std::uint64_t hidden);
/// Of an MLP that `ranks` ranks share.
std::vector<AdaptedMatrix> adapted_in_mlp(const LayoutSpec& layout, bool gated, std::uint64_t hidden,
                                          std::uint64_t width, std::uint32_t ranks);

/// Bytes of a weight of a layer that is not trained, scales included.
double base_weight_bytes(const AdapterSpec& adapters);

/// Of each parameter that is trained: bytes of its moments.
double moment_bytes(const OptimizerSpec& optimizer);
/// The same and the copy that is updated.
double state_bytes(const OptimizerSpec& optimizer);

/// Muon over shards that are no whole tensors: each rank gathers the matrices that its shard begins, ends or holds.
inline bool gathers_shards_of_momenta(const LayoutSpec& l) {
  return l.optimizer.kind == OptimizerKind::kMuon && l.shards_optimizer() && !l.sharding.whole_tensors;
}

/// Muon: Newton-Schulz iterations on the momentum of each matrix of the stage's layers, as this rank of TP holds it
/// (Megatron-Core's "blockwise"), or of whole matrices ("duplicated"). Each is a b x b symmetric product, its square,
/// and one with the matrix. Ranks with shards have their share of the matrices and, where shards are no whole tensors,
/// one more at an end. Source: Keller Jordan, "Muon" (2024): X <- a X + (b A + c A^2) X, A = X X^T, in bf16.
Duration orthogonal_time(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage,
                         const KernelTable& kernels);

}  // namespace busbar::workload
