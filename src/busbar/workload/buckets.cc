#include "busbar/workload/internal/buckets.h"

#include <array>
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

/// In the order of TensorPart, without routed experts.
std::array<std::uint64_t, 4> layer_tensors(const ModelSpec& m, const LayoutSpec& l, bool experts) {
  const LayerParameters p = layer_parameters(m);
  const std::uint64_t shared = std::uint64_t{m.moe.shared} * m.hidden * m.moe.ffn / l.tp;
  const std::uint64_t router = std::uint64_t{m.hidden} * m.moe.experts;
  return {attention_in_per_rank(m, l) + m.hidden,  // with its norm, which every TP rank holds in full
          attention_out_per_rank(m, l),
          (experts ? router + (m.gated_mlp ? 2 : 1) * shared : p.mlp_in / l.tp) + m.hidden,
          experts ? shared : p.mlp_out / l.tp};
}

/// The parameters that join a head of multi-token prediction: two norms and the projection of two hidden states.
std::uint64_t join_parameters(const ModelSpec& m, const LayoutSpec& l) {
  return 2ull * m.hidden * m.hidden / l.tp + 2ull * m.hidden;
}

std::uint64_t table_parameters(const ModelSpec& m, const LayoutSpec& l) {
  return (embedding_parameters(m) + l.tp - 1) / l.tp;
}

/// A tied head on the embedding's own rank adds no parameters; on another stage it is a copy.
std::uint64_t head_parameters(const ModelSpec& m, const LayoutSpec& l) {
  return (m.tied_embeddings && l.last_stage() == 0 ? 0 : table_parameters(m, l)) + m.hidden;
}

/// Without routed experts.
std::vector<std::uint64_t> tensors_of(const ModelSpec& m, const LayoutSpec& l, std::uint32_t first,
                                      std::uint32_t layers, bool embedding, bool head) {
  const auto plain = layer_tensors(m, l, false), routed = layer_tensors(m, l, true);
  std::vector<std::uint64_t> out;
  if (embedding) out.push_back(table_parameters(m, l));
  for (std::uint32_t i = 0; i < layers; ++i) {
    const auto& tensors = has_experts(m, first + i) ? routed : plain;
    out.insert(out.end(), tensors.begin(), tensors.end());
    if (first + i >= m.layers) out[out.size() - tensors.size()] += join_parameters(m, l);
  }
  if (head) out.push_back(head_parameters(m, l));
  return out;
}

/// Parameters of the routed experts of one layer on one rank.
std::uint64_t routed_parameters(const ModelSpec& m, const LayoutSpec& l) {
  return m.moe.experts / l.ep * expert_parameters(m) / l.expert_tensor();
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
    plan.tensor_experts[plan.tensor(i, TensorPart::kMlpIn)] = routed_parameters(model, layout);
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

namespace {

struct LayerCount {
  std::uint64_t plain = 0, routed = 0;  ///< layers without and with routed experts
  std::uint64_t mtp = 0;                ///< of them, of multi-token prediction
};

LayerCount layers_of_stage(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage) {
  LayerCount out;
  for (std::uint32_t c = 0; c < l.vpp; ++c) {
    const std::uint32_t place = l.virtual_stage(stage, c), first = first_layer_of(l, place);
    const std::uint32_t layers = layers_with_mtp(l, m, place);
    for (std::uint32_t i = first; i < first + layers; ++i) ++(has_experts(m, i) ? out.routed : out.plain);
    out.mtp += layers - l.chunk_layers[place];
  }
  return out;
}

}  // namespace

std::uint64_t stage_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  const LayerCount layers = layers_of_stage(model, layout, stage);
  const auto all = [&](bool experts) {
    const auto tensors = layer_tensors(model, layout, experts);
    return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0});
  };
  std::uint64_t total = layers.plain * all(false) + layers.mtp * join_parameters(model, layout);
  if (layers.routed > 0) total += layers.routed * all(true);
  if (layout.virtual_stage(stage, 0) == 0) total += table_parameters(model, layout);
  return stage == layout.last_stage() ? total + head_parameters(model, layout) : total;
}

std::uint64_t stage_expert_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  if (model.moe.experts == 0) return 0;
  return layers_of_stage(model, layout, stage).routed * routed_parameters(model, layout);
}

}  // namespace busbar
