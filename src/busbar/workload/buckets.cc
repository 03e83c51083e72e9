#include "busbar/workload/internal/buckets.h"

#include <numeric>

#include "busbar/workload/internal/layer_split.h"

namespace busbar {
namespace {

/// If there are fewer key-value heads than TP ranks, several ranks hold the same head. Narrow matrices of latent
/// attention are whole on each rank.
std::uint64_t attention_in_per_rank(const ModelSpec& m, const LayoutSpec& l) {
  if (const LatentAttentionSpec& a = m.latent; a.kv_rank > 0) {
    const std::uint64_t down = std::uint64_t{m.hidden} * (a.q_rank + a.kv_rank + a.rope_dim) + a.q_rank + a.kv_rank;
    const std::uint64_t queries = a.q_rank > 0 ? a.q_rank : m.hidden;
    const std::uint64_t up = queries * (a.nope_dim + a.rope_dim) + std::uint64_t{a.kv_rank} * (a.nope_dim + a.v_dim);
    return down + up * (m.heads / l.tp);
  }
  const std::uint64_t kv = m.kv_heads < l.tp ? 1 : m.kv_heads / l.tp;
  return static_cast<std::uint64_t>(m.hidden) * (m.heads / l.tp + 2 * kv) * m.head_dim;
}

std::uint64_t attention_out_per_rank(const ModelSpec& m, const LayoutSpec& l) {
  const std::uint32_t width = m.latent.kv_rank > 0 ? m.latent.v_dim : m.head_dim;
  return std::uint64_t{m.hidden} * (m.heads / l.tp) * width;
}

/// Without routed experts.
std::vector<std::uint64_t> tensors_of(const ModelSpec& m, const LayoutSpec& l, std::uint32_t first,
                                      std::uint32_t layers, bool embedding, bool head) {
  const LayerParameters p = layer_parameters(m);
  const std::uint64_t shared = std::uint64_t{m.moe.shared} * m.hidden * m.moe.ffn / l.tp;
  const std::uint64_t router = std::uint64_t{m.hidden} * m.moe.experts;
  const std::uint64_t table = (embedding_parameters(m) + l.tp - 1) / l.tp;
  std::vector<std::uint64_t> out;
  if (embedding) out.push_back(table);
  for (std::uint32_t i = 0; i < layers; ++i) {
    // Of multi-token prediction: two norms and the projection of two hidden states.
    const std::uint64_t join = first + i < m.layers ? 0 : 2ull * m.hidden * m.hidden / l.tp + 2ull * m.hidden;
    out.push_back(join + attention_in_per_rank(m, l) + m.hidden);  // with its norm, which every TP rank holds in full
    out.push_back(attention_out_per_rank(m, l));
    const bool experts = has_experts(m, first + i);
    out.push_back((experts ? router + (m.gated_mlp ? 2 : 1) * shared : p.mlp_in / l.tp) + m.hidden);
    out.push_back(experts ? shared : p.mlp_out / l.tp);
  }
  // A tied head on the embedding's own rank adds no parameters; on another stage it is a copy.
  if (head) out.push_back((m.tied_embeddings && l.last_stage() == 0 ? 0 : table) + m.hidden);
  return out;
}

}  // namespace

std::uint64_t BucketPlan::parameters() const {
  return std::accumulate(tensor_parameters.begin(), tensor_parameters.end(), std::uint64_t{0});
}

std::uint64_t BucketPlan::expert_parameters() const {
  return std::accumulate(tensor_experts.begin(), tensor_experts.end(), std::uint64_t{0});
}

BucketPlan plan_buckets(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage, std::uint32_t chunk) {
  BucketPlan plan;
  const std::uint32_t place = layout.virtual_stage(stage, chunk);
  plan.has_embedding = place == 0;
  plan.has_head = place + 1 == layout.chunks();
  const std::uint32_t layers = layers_with_mtp(layout, model, place);
  const std::uint32_t first = first_layer_of(layout, place);
  plan.tensor_parameters = tensors_of(model, layout, first, layers, plan.has_embedding, plan.has_head);
  plan.tensor_experts.resize(plan.tensor_parameters.size());
  for (std::uint32_t i = 0; i < layers; ++i) {
    if (!has_experts(model, first + i)) continue;
    plan.tensor_experts[plan.tensor(i, TensorPart::kMlpIn)] =
        model.moe.experts / layout.ep * expert_parameters(model) / layout.expert_tensor();
  }
  plan.bucket_of.resize(plan.tensor_parameters.size());
  const std::uint64_t all = plan.parameters() + plan.expert_parameters();
  const bool buckets = layout.overlap_grad_reduce || layout.whole_tensors;
  const std::uint64_t full = buckets ? bucket_size(layout) : all + 1;
  const auto rounded = [](std::uint64_t n, std::uint64_t ranks) { return (n + ranks - 1) / ranks * ranks; };
  std::uint64_t filled = 0, experts = 0;
  for (std::size_t t = plan.tensor_parameters.size(); t-- > 0;) {
    plan.bucket_of[t] = static_cast<std::uint32_t>(plan.bucket_parameters.size());
    filled += plan.tensor_parameters[t];
    experts += plan.tensor_experts[t];
    const bool closes = layout.shards_parameters() ? plan.begins_unit(t) : filled + experts >= full || t == 0;
    if (!closes) continue;
    plan.bucket_parameters.push_back(rounded(filled, layout.data_ranks()));
    plan.bucket_experts.push_back(rounded(experts, layout.expert_data_ranks()));
    plan.last_tensor.push_back(static_cast<std::uint32_t>(t));
    filled = experts = 0;
  }
  return plan;
}

std::uint64_t stage_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  std::uint64_t total = 0;
  for (std::uint32_t c = 0; c < layout.vpp; ++c) total += plan_buckets(model, layout, stage, c).parameters();
  return total;
}

std::uint64_t stage_expert_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  std::uint64_t total = 0;
  for (std::uint32_t c = 0; c < layout.vpp; ++c) total += plan_buckets(model, layout, stage, c).expert_parameters();
  return total;
}

}  // namespace busbar
