// Gradient buckets: the tensors of a model chunk that are reduced together.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

/// Tensors of one model chunk in forward order: [embedding], then four per layer, then [head].
enum class TensorPart : std::uint8_t { kAttentionIn, kAttentionOut, kMlpIn, kMlpOut };

/// The tensors of chunk `chunk` on stage `stage`, per rank, and the bucket of each. With ZeRO-3 a bucket is a unit.
/// Otherwise buckets fill in the order of gradients (backwards) and close when they hold bucket_size() parameters.
struct BucketPlan {
  bool has_embedding = false, has_head = false;
  std::vector<std::uint64_t> tensor_parameters;  ///< forward order; without routed experts
  std::vector<std::uint64_t> tensor_experts;     ///< parameters of routed experts, at kMlpIn of their layer
  std::vector<std::uint32_t> bucket_of;          ///< per tensor; bucket 0 is reduced first
  std::vector<std::uint64_t> bucket_parameters;  ///< per bucket, rounded up to a multiple of DP x CP
  std::vector<std::uint64_t> bucket_experts;     ///< the same of routed experts, and the ranks that hold the same ones
  std::vector<std::uint64_t> bucket_trained;     ///< per bucket: what of bucket_parameters is trained, rounded alike
  std::vector<std::uint64_t> expert_trained;     ///< the same of bucket_experts
  std::vector<std::uint32_t> last_tensor;        ///< per bucket: the tensor whose gradient completes it
  std::uint32_t tensors_of(std::size_t bucket) const {
    const std::size_t end = bucket == 0 ? tensor_parameters.size() : last_tensor[bucket - 1];
    return static_cast<std::uint32_t>(end) - last_tensor[bucket];
  }

  std::uint32_t embedding() const { return 0; }
  std::uint32_t head() const { return static_cast<std::uint32_t>(tensor_parameters.size()) - 1; }
  std::uint32_t tensor(std::uint32_t layer_in_chunk, TensorPart part) const {
    return (has_embedding ? 1u : 0u) + 4 * layer_in_chunk + static_cast<std::uint32_t>(part);
  }
  std::uint64_t parameters() const;         ///< without routed experts
  std::uint64_t expert_parameters() const;  ///< of routed experts
  /// Units of ZeRO-3, each gathered together: the embedding, each layer, the head.
  bool begins_unit(std::size_t tensor) const {
    const std::size_t first_layer = has_embedding ? 1 : 0;
    return tensor <= first_layer || (tensor - first_layer) % 4 == 0;
  }
};

BucketPlan plan_buckets(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage, std::uint32_t chunk);

/// Parameters that one rank of `stage` holds in all its chunks: of routed experts, and the others.
std::uint64_t stage_expert_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage);
std::uint64_t stage_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage);
/// Of these, in the embedding and the head, whose weights keep 16 bits where others have fewer.
std::uint64_t stage_table_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage);

/// Parameters that are trained: all of a rank's, or its adapters.
struct Trained {
  std::uint64_t dense = 0, experts = 0;
};
Trained stage_trained(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage);

}  // namespace busbar::workload
