// A decoder in numbers, dense or with experts, independent of machine and layout.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "busbar/base/result.h"
#include "busbar/workload/mixer.h"

namespace busbar {

/// Mixture of experts: a layer holds many MLPs, and each token uses a few of them.
struct ExpertSpec {
  std::uint32_t experts = 0;       ///< routed experts of a layer; 0: the model is dense
  std::uint32_t per_token = 0;     ///< routed experts that a token uses
  std::uint32_t ffn = 0;           ///< width of one expert
  std::uint32_t shared = 0;        ///< experts of the same width that every token uses
  std::uint32_t dense_layers = 0;  ///< the first layers, which have one MLP of ModelSpec::ffn instead
  std::uint32_t every = 1;         ///< of the layers after them, each `every`-th has experts
  std::uint32_t most_nodes = 0;    ///< nodes that hold the experts of one token, chosen first; 0: any
  bool biases = false;             ///< each product of an expert adds a bias
};

/// Layers whose tokens attend only to the tokens before them, up to a distance.
struct WindowSpec {
  std::uint32_t tokens = 0;      ///< keys that a token sees; 0: no layer has a window
  std::uint32_t full_every = 0;  ///< of each so many layers the last one has no window; 0: all have one
};

/// How those who published the model trained it.
struct RecipeSpec {
  std::uint64_t batch_tokens = 0;  ///< of a step; 0: not published
  std::string source;
};

struct ModelSpec {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t ffn = 0;  ///< width of the MLP; with a gate, of each of its two halves
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  bool gated_mlp = true;  ///< SwiGLU and similar: three matrices instead of two
  std::uint32_t vocab = 0;
  bool tied_embeddings = false;  ///< the output head is the embedding transposed
  bool qk_norm = false;          ///< every head's query and key pass through a norm of their own
  ExpertSpec moe;
  LatentAttentionSpec latent;
  WindowSpec window;
  /// Multi-token prediction: modules after the last layer, each a projection of two hidden states to one, one more
  /// layer, and one more use of the head. Source: DeepSeek-V3, arXiv:2412.19437 (2024), section 2.2.
  std::uint32_t mtp = 0;
  RecipeSpec recipe;
  std::string source;
  std::map<std::string, Where> places;  ///< where each key was given, for messages
};

bool has_experts(const ModelSpec& m, std::uint32_t layer);
std::uint32_t expert_layers(const ModelSpec& m);  ///< how many have; without those of multi-token prediction
bool has_window(const ModelSpec& m, std::uint32_t layer);
/// Keys that a token of a windowed layer sees in the mean over a sequence, relative to those of an ordinary causal
/// layer.
double window_share(const ModelSpec& m, std::uint32_t seq);

/// Parameters of one dense layer with ordinary attention, by matrix. Biases and learned positions are left out: below
/// 0.1 % of every model here.
struct LayerParameters {
  std::uint64_t attention_in = 0;  ///< query, key, value
  std::uint64_t attention_out = 0;
  std::uint64_t mlp_in = 0;  ///< up and, with a gate, gate
  std::uint64_t mlp_out = 0;
  std::uint64_t norms = 0;  ///< two of `hidden` each (RMS norm)
  std::uint64_t total() const { return attention_in + attention_out + mlp_in + mlp_out + norms; }
};
LayerParameters layer_parameters(const ModelSpec& m);
std::uint32_t attention_width(const ModelSpec& m);         ///< of a head: the mean of query (or key) and value
std::uint64_t attention_parameters(const ModelSpec& m);    ///< matrices of one layer's attention, latent or not
std::uint64_t expert_parameters(const ModelSpec& m);       ///< one routed expert
std::uint64_t embedding_parameters(const ModelSpec& m);    ///< one table of vocab x hidden
std::uint64_t parameter_count(const ModelSpec& m);         ///< all that is trained, multi-token prediction included
std::uint64_t active_parameter_count(const ModelSpec& m);  ///< parameters that one token uses; all of a dense model

/// Model FLOPs per token of a training step: three times the forward pass, 2 per multiply-add, no recomputation.
struct ModelFlops {
  double full_attention = 0;  ///< every token attends to all `seq` tokens
  double causal = 0;          ///< half the scores, as in a causal kernel. MFU uses this value.
};
/// Experts count as often as a token uses them, and attention by the widths of query and value of each head.
/// Source: Korthikanti et al. 2022 (arXiv:2205.05198), appendix A; causal halving as in Megatron-Bridge and MaxText.
ModelFlops flops_per_token(const ModelSpec& m, std::uint32_t seq);

/// Refuses shapes that no decoder has: zero sizes, query heads that are no multiple of key-value heads, more experts
/// per token than there are.
Status check_model(const ModelSpec& m);

}  // namespace busbar
