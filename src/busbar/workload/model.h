// A decoder in numbers, dense or with experts, independent of machine and layout.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/workload/mixer.h"

namespace busbar::workload {

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
  std::uint32_t hidden = 0;        ///< a token is narrowed to so many elements before its experts; 0: it is not
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

/// Parameters that a checkpoint has and a step of text does not use: what sees images or hears sound.
struct TowerSpec {
  std::string name;
  std::uint64_t parameters = 0;
};

/// How a note begins that only lists keys of a file that decide nothing.
inline constexpr std::string_view kHarmlessNote = "keys that change nothing here";

/// A decoder. Layers are all alike but for `moe` and `window`, or `kinds` and `kind_of` say what each is.
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
  /// Kinds of layers, and the kind of each layer; one more for a module of multi-token prediction. Empty: see `moe` and
  /// `window`.
  std::vector<LayerKind> kinds;
  std::vector<std::uint16_t> kind_of;
  std::vector<TowerSpec> towers;
  std::vector<std::string> notes;  ///< what the reader of the file took for granted or left out
  RecipeSpec recipe;
  std::string source;
  std::map<std::string, Where> places;  ///< where each key was given, for messages
};

/// The kinds of layers of a model, and the kind of each layer; modules of multi-token prediction come last.
struct LayerTable {
  std::vector<LayerKind> kinds;
  std::vector<std::uint16_t> of;
  const LayerKind& kind(std::uint32_t layer) const { return kinds[of[layer]]; }
  std::vector<std::uint32_t> counts() const;  ///< layers of each kind
};
LayerTable layer_table(const ModelSpec& m);
/// The shape of layers that are all alike: ordinary or latent attention, with a window if `windowed`.
MixerSpec plain_mixer(const ModelSpec& m, bool windowed = false);

bool has_experts(const ModelSpec& m, std::uint32_t layer);
std::uint32_t expert_layers(const ModelSpec& m);  ///< how many have; without those of multi-token prediction
bool has_window(const ModelSpec& m, std::uint32_t layer);

std::uint64_t mlp_parameters(const ModelSpec& m, std::uint64_t width);  ///< matrices of one dense MLP
std::uint64_t expert_parameters(const ModelSpec& m);                    ///< one routed expert
/// The router of a layer, and what narrows tokens before experts and widens them after.
std::uint64_t router_parameters(const ModelSpec& m);
std::uint32_t routed_hidden(const ModelSpec& m);                            ///< elements of a token that an expert sees
std::uint64_t layer_parameters(const ModelSpec& m, const LayerKind& kind);  ///< all its experts
double layer_flops(const ModelSpec& m, const LayerKind& kind, std::uint32_t seq);  ///< of a token, forward, causal
std::uint64_t embedding_parameters(const ModelSpec& m);                            ///< one table of vocab x hidden
std::uint64_t parameter_count(const ModelSpec& m);         ///< all that is trained, multi-token prediction included
std::uint64_t active_parameter_count(const ModelSpec& m);  ///< parameters that one token uses; all of a dense model
std::uint64_t tower_parameters(const ModelSpec& m);        ///< besides these: of towers
/// Bytes that inference keeps of one sequence of `tokens` tokens, keys and values in 16 bits.
std::uint64_t cache_bytes(const ModelSpec& m, std::uint64_t tokens);

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

}  // namespace busbar::workload
