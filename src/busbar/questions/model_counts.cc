#include "busbar/questions/model_counts.h"

#include <fmt/core.h>

namespace busbar::questions {

const Record& record_of(const LayersOfModel*) {
  using L = LayersOfModel;
  static const Record record(
      "layers_of_model",
      {{"mixer", &L::mixer, "", "how tokens see each other: attention, latent, compressed, delta, mamba, lightning"},
       {"mlp", &L::mlp, "", "dense, experts or none"},
       {"layers", &L::layers, "", "of this kind, those of multi-token prediction too"},
       {"parameters", &L::parameters, "", "of one layer"},
       {"flops_per_token", &L::flops_per_token, "", "of one layer, forward, causal, at the length of the step"},
       {"cache_bytes_per_token", &L::cache_per_token, "bytes", "that inference keeps, 16 bits"},
       {"cache_tokens", &L::cache_tokens, "", "of so many tokens at most; 0: of all"},
       {"cache_bytes_per_sequence", &L::cache_per_sequence, "bytes", "besides: states"}});
  return record;
}

const Record& record_of(const ModelCounts*) {
  using M = ModelCounts;
  static const Record record(
      "model_parameters",
      {{"total", &M::total, "", "parameters, those of multi-token prediction too"},
       {"active", &M::active, "", "that a token uses"},
       {"embedding", &M::embedding, "", "of the table of tokens"},
       {"towers", &M::towers, "", "besides the total: of what sees images; no step computes it"},
       {"kinds", &M::kinds, "", "of layers"},
       Field("notes", &M::notes, "", "what the reader of the file took for granted or left out").or_absent()});
  return record;
}

ModelCounts model_counts(const workload::ModelSpec& model, std::uint32_t seq) {
  ModelCounts out{workload::parameter_count(model),
                  workload::active_parameter_count(model),
                  workload::embedding_parameters(model),
                  workload::tower_parameters(model),
                  {},
                  model.notes};
  const workload::LayerTable table = workload::layer_table(model);
  const std::vector<std::uint32_t> layers = table.counts();
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const workload::LayerKind& kind = table.kinds[k];
    const workload::MixerCache cache = workload::mixer_cache(kind.mixer);
    out.kinds.push_back({workload::mixer_words(kind.mixer),
                         kind.experts     ? "experts"
                         : kind.has_mlp() ? "dense"
                                          : "none",
                         layers[k], workload::layer_parameters(model, kind), workload::layer_flops(model, kind, seq),
                         cache.per_token, cache.most_tokens, cache.per_sequence});
  }
  return out;
}

}  // namespace busbar::questions
