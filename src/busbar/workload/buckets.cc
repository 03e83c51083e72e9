#include "busbar/workload/internal/buckets.h"

#include <numeric>

namespace busbar {
namespace {

/// If there are fewer key-value heads than TP ranks, several ranks hold the same head.
std::uint64_t attention_in_per_rank(const ModelSpec& m, const LayoutSpec& l) {
  const std::uint64_t kv = m.kv_heads < l.tp ? 1 : m.kv_heads / l.tp;
  return static_cast<std::uint64_t>(m.hidden) * (m.heads / l.tp + 2 * kv) * m.head_dim;
}

std::vector<std::uint64_t> tensors_of(const ModelSpec& m, const LayoutSpec& l, std::uint32_t layers, bool embedding,
                                      bool head) {
  const LayerParameters p = layer_parameters(m);
  const std::uint64_t table = (embedding_parameters(m) + l.tp - 1) / l.tp;
  std::vector<std::uint64_t> out;
  if (embedding) out.push_back(table);
  for (std::uint32_t i = 0; i < layers; ++i) {
    out.push_back(attention_in_per_rank(m, l) + m.hidden);  // with its norm, which every TP rank holds in full
    out.push_back(p.attention_out / l.tp);
    out.push_back(p.mlp_in / l.tp + m.hidden);
    out.push_back(p.mlp_out / l.tp);
  }
  // A tied head on the embedding's own rank adds no parameters; on another stage it is a copy.
  if (head) out.push_back((m.tied_embeddings && l.last_stage() == 0 ? 0 : table) + m.hidden);
  return out;
}

}  // namespace

std::uint64_t BucketPlan::parameters() const {
  return std::accumulate(tensor_parameters.begin(), tensor_parameters.end(), std::uint64_t{0});
}

BucketPlan plan_buckets(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage, std::uint32_t chunk) {
  BucketPlan plan;
  const std::uint32_t place = layout.virtual_stage(stage, chunk);
  plan.has_embedding = place == 0;
  plan.has_head = place + 1 == layout.chunks();
  plan.tensor_parameters = tensors_of(model, layout, layout.chunk_layers[place], plan.has_embedding, plan.has_head);
  plan.bucket_of.resize(plan.tensor_parameters.size());
  const std::uint64_t full = layout.overlap_grad_reduce ? bucket_size(layout) : plan.parameters() + 1;
  const std::uint64_t ranks = layout.data_ranks();
  std::uint64_t filled = 0;
  for (std::size_t t = plan.tensor_parameters.size(); t-- > 0;) {
    plan.bucket_of[t] = static_cast<std::uint32_t>(plan.bucket_parameters.size());
    filled += plan.tensor_parameters[t];
    const bool closes = layout.shards_parameters() ? plan.begins_unit(t) : filled >= full || t == 0;
    if (!closes && !layout.whole_tensors) continue;
    plan.bucket_parameters.push_back((filled + ranks - 1) / ranks * ranks);
    plan.last_tensor.push_back(static_cast<std::uint32_t>(t));
    filled = 0;
  }
  return plan;
}

std::uint64_t stage_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  std::uint64_t total = 0;
  for (std::uint32_t c = 0; c < layout.vpp; ++c) total += plan_buckets(model, layout, stage, c).parameters();
  return total;
}

}  // namespace busbar
