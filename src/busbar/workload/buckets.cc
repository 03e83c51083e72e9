#include "busbar/workload/internal/buckets.h"

#include <array>
#include <numeric>

#include "busbar/workload/internal/layer_split.h"
#include "busbar/workload/internal/trained.h"

namespace busbar::workload {
namespace {

/// Parameters of a mixer on one rank, before its core and after it. Narrow matrices are whole on each rank; if there
/// are fewer key-value heads than ranks, several ranks hold the same head.
struct MixerShare {
  std::uint64_t in = 0, out = 0;
  MixerShare(const MixerSpec& mixer, const ModelSpec& m, const LayoutSpec& l) {
    for (const Matrix& x : mixer_matrices(mixer, m.hidden))
      (x.output ? out : in) += x.cut == MatrixCut::kWhole ? x.parameters() : x.parameters() / l.tp;
    if (mixer.kind == MixerKind::kAttention && mixer.kv_heads < l.tp) {
      MixerSpec more = mixer;
      more.kv_heads = l.tp;  // as if each rank had a head of its own
      in = 0;
      for (const Matrix& x : mixer_matrices(more, m.hidden))
        if (!x.output) in += x.cut == MatrixCut::kWhole ? x.parameters() : x.parameters() / l.tp;
    }
    const std::uint64_t vectors = mixer_vectors(mixer);
    in += mixer.kind == MixerKind::kState ? vectors / l.tp : vectors;
  }
};

/// In the order of TensorPart, without routed experts. Each half has its norm, which every TP rank holds in full.
std::array<std::uint64_t, 4> layer_tensors(const ModelSpec& m, const LayoutSpec& l, const LayerKind& kind) {
  const MixerShare mixer(kind.mixer, m, l);
  const std::uint64_t width = kind.experts ? std::uint64_t{m.moe.shared} * m.moe.ffn : kind.ffn;
  const std::uint64_t one = m.hidden * width / l.tp, router = kind.experts ? router_parameters(m) : 0;
  return {mixer.in + (kind.has_mixer() ? m.hidden : 0), mixer.out,
          router + (m.gated_mlp ? 2 : 1) * one + (kind.has_mlp() ? m.hidden : 0), one};
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
  const LayerTable table = layer_table(m);
  std::vector<std::uint64_t> out;
  if (embedding) out.push_back(table_parameters(m, l));
  for (std::uint32_t i = 0; i < layers; ++i) {
    const auto tensors = layer_tensors(m, l, table.kind(first + i));
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

/// Adapters of one layer on one rank by TensorPart, and those of its routed experts.
struct LayerAdapters {
  std::array<std::uint64_t, 4> tensors{};
  std::uint64_t routed = 0;
  LayerAdapters(const ModelSpec& m, const LayoutSpec& l, const LayerKind& kind) {
    for (const AdaptedMatrix& x : adapted_in_mixer(l, kind.mixer, m.hidden)) tensors[x.output ? 1 : 0] += x.parameters;
    const std::uint64_t width = kind.experts ? std::uint64_t{m.moe.shared} * m.moe.ffn : kind.ffn;
    for (const AdaptedMatrix& x : adapted_in_mlp(l, m.gated_mlp, m.hidden, width, l.tp))
      tensors[x.output ? 3 : 2] += x.parameters;
    if (!kind.experts) return;
    for (const AdaptedMatrix& x : adapted_in_mlp(l, m.gated_mlp, routed_hidden(m), m.moe.ffn, l.expert_tensor()))
      routed += x.parameters * (m.moe.experts / l.ep);
  }
};

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
  std::vector<std::uint64_t> trained = plan.tensor_parameters, trained_experts = plan.tensor_experts;
  if (layout.adapters.any()) {
    trained.assign(trained.size(), 0);
    trained_experts.assign(trained.size(), 0);
    const LayerTable table = layer_table(model);
    for (std::uint32_t i = 0; i < layers; ++i) {
      const LayerAdapters adapters(model, layout, table.kind(first + i));
      for (std::uint32_t part = 0; part < adapters.tensors.size(); ++part)
        trained[plan.tensor(i, static_cast<TensorPart>(part))] = adapters.tensors[part];
      trained_experts[plan.tensor(i, TensorPart::kMlpIn)] = adapters.routed;
    }
  }
  const std::uint64_t all = plan.parameters() + plan.expert_parameters();  // no fewer than are trained
  const bool buckets = layout.overlap.grad_reduce || layout.sharding.whole_tensors;
  const std::uint64_t full = buckets ? bucket_size(layout) : all + 1;
  const auto rounded = [](std::uint64_t n, std::uint64_t ranks) { return (n + ranks - 1) / ranks * ranks; };
  std::uint64_t filled = 0, experts = 0, filled_trained = 0, experts_trained = 0;
  for (std::size_t t = plan.tensor_parameters.size(); t-- > 0;) {
    plan.bucket_of[t] = static_cast<std::uint32_t>(plan.bucket_parameters.size());
    filled += plan.tensor_parameters[t];
    experts += plan.tensor_experts[t];
    filled_trained += trained[t];
    experts_trained += trained_experts[t];
    const bool is_full = filled_trained + experts_trained >= full || t == 0;
    const bool closes = layout.shards_parameters() ? plan.begins_unit(t) : is_full;
    if (!closes) continue;
    plan.bucket_parameters.push_back(rounded(filled, layout.data_ranks()));
    plan.bucket_experts.push_back(rounded(experts, layout.expert_data_ranks()));
    plan.last_tensor.push_back(static_cast<std::uint32_t>(t));
    plan.bucket_trained.push_back(rounded(filled_trained, layout.data_ranks()));
    plan.expert_trained.push_back(rounded(experts_trained, layout.expert_data_ranks()));
    filled = experts = filled_trained = experts_trained = 0;
  }
  return plan;
}

namespace {

/// Calls `use` with the number of each layer of a stage, those of multi-token prediction too.
void for_each_layer(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage, auto use) {
  for (std::uint32_t c = 0; c < l.vpp; ++c) {
    const std::uint32_t place = l.virtual_stage(stage, c), first = first_layer_of(l, place);
    for (std::uint32_t i = 0; i < layers_with_mtp(l, m, place); ++i) use(first + i);
  }
}

}  // namespace

std::uint64_t stage_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  const LayerTable table = layer_table(model);
  std::vector<std::uint64_t> of_kind;
  for (const LayerKind& kind : table.kinds) {
    const auto tensors = layer_tensors(model, layout, kind);
    of_kind.push_back(std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0}));
  }
  std::uint64_t total = 0;
  for_each_layer(model, layout, stage, [&](std::uint32_t layer) {
    total += of_kind[table.of[layer]] + (layer >= model.layers ? join_parameters(model, layout) : 0);
  });
  if (layout.virtual_stage(stage, 0) == 0) total += table_parameters(model, layout);
  return stage == layout.last_stage() ? total + head_parameters(model, layout) : total;
}

std::uint64_t stage_expert_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  if (model.moe.experts == 0) return 0;
  std::uint64_t layers = 0;
  for_each_layer(model, layout, stage, [&](std::uint32_t layer) { layers += has_experts(model, layer) ? 1 : 0; });
  return layers * routed_parameters(model, layout);
}

std::uint64_t stage_table_parameters(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  return (layout.virtual_stage(stage, 0) == 0 ? table_parameters(model, layout) : 0) +
         (stage == layout.last_stage() ? head_parameters(model, layout) : 0);
}

Trained stage_trained(const ModelSpec& model, const LayoutSpec& layout, std::uint32_t stage) {
  if (!layout.adapters.any())
    return {stage_parameters(model, layout, stage), stage_expert_parameters(model, layout, stage)};
  const LayerTable table = layer_table(model);
  Trained sum;
  for_each_layer(model, layout, stage, [&](std::uint32_t layer) {
    const LayerAdapters adapters(model, layout, table.kind(layer));
    for (const std::uint64_t n : adapters.tensors) sum.dense += n;
    sum.experts += adapters.routed;
  });
  return sum;
}

}  // namespace busbar::workload
