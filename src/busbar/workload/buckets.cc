#include "busbar/workload/buckets.h"

#include <numeric>

namespace busbar {
namespace {

std::vector<std::uint64_t> tensors_of(const ModelSpec& m, const LayoutSpec& l, bool embedding, bool head) {
  const LayerParameters p = layer_parameters(m);
  const std::uint64_t table = (embedding_parameters(m) + l.tp - 1) / l.tp;
  std::vector<std::uint64_t> out;
  if (embedding) out.push_back(table);
  for (std::uint32_t i = 0; i < m.layers / (l.pp * l.vpp); ++i) {
    out.push_back(p.attention_in / l.tp + m.hidden);  // with its norm, which every TP rank holds whole
    out.push_back(p.attention_out / l.tp);
    out.push_back(p.mlp_in / l.tp + m.hidden);
    out.push_back(p.mlp_out / l.tp);
  }
  // A tied head on the embedding's own rank costs nothing more; on another stage it is a copy.
  if (head) out.push_back((m.tied_embeddings && l.pp == 1 ? 0 : table) + m.hidden);
  return out;
}

}  // namespace

std::uint64_t BucketPlan::parameters() const {
  return std::accumulate(tensor_parameters.begin(), tensor_parameters.end(), std::uint64_t{0});
}

BucketPlan plan_buckets(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage, std::uint32_t chunk) {
  BucketPlan plan;
  plan.has_embedding = stage == 0 && chunk == 0;
  plan.has_head = stage + 1 == layout.pp && chunk + 1 == layout.vpp;
  plan.tensor_parameters = tensors_of(model, layout, plan.has_embedding, plan.has_head);
  plan.bucket_of.resize(plan.tensor_parameters.size());
  const std::uint64_t full = layout.overlap_grad_reduce ? bucket_size(layout) : plan.parameters() + 1;
  std::uint64_t filled = 0;
  for (std::size_t t = plan.tensor_parameters.size(); t-- > 0;) {
    plan.bucket_of[t] = static_cast<std::uint32_t>(plan.bucket_parameters.size());
    filled += plan.tensor_parameters[t];
    if (filled < full && t != 0) continue;
    plan.bucket_parameters.push_back((filled + layout.dp - 1) / layout.dp * layout.dp);
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
