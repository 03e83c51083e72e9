// Parameters of the parts of a checkpoint that see images. Source of shapes: transformers (5.x, 2026), qwen3_vl,
// gemma4; moonshotai/Kimi-K2.5, modeling_kimi_k25.py (2026).
#include <fmt/core.h>

#include "busbar/spec/internal/hugging_face_layers.h"
#include "busbar/spec/internal/model_bounds.h"

namespace busbar::spec {
namespace {

constexpr std::uint64_t kColours = 3;

/// Numbers of a vision_config, each in [1, 2^22], so that products stay below 2^63.
class TowerKeys {
 public:
  explicit TowerKeys(const YamlNode& map) : keys_(map) {}
  std::uint64_t of(KeyNames names, std::int64_t most = kMostWidth) { return keys_.need(names, most); }
  std::uint64_t or_else(KeyNames names, std::uint32_t otherwise) { return keys_.read(names, otherwise, kMostWidth, 0); }
  std::uint64_t size_of(const char* name) const {
    const auto list = keys_.find({name});
    return list && list->kind() == YamlNode::Kind::kSequence ? list->size() : 0;
  }
  const Status& status() const { return keys_.status(); }

 private:
  HuggingFaceKeys keys_;
};

/// A transformer with layer norms and biases, then mergers of neighbouring patches: one, and one for each layer whose
/// output goes into the decoder directly.
std::uint64_t qwen_tower(TowerKeys& v) {
  const std::uint64_t h = v.of({"hidden_size"}, kMostHeadWidth * 4), f = v.of({"intermediate_size"}),
                      out = v.of({"out_hidden_size"});
  const std::uint64_t patch = v.of({"patch_size"}, 256), times = v.of({"temporal_patch_size"}, 16);
  const std::uint64_t merge = v.of({"spatial_merge_size"}, 16), wide = h * merge * merge;
  const std::uint64_t layer = 4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h;
  const std::uint64_t merger = wide * wide + wide + wide * out + out;
  return v.of({"depth"}, kMostHeadWidth) * layer + kColours * times * patch * patch * h + h +
         v.of({"num_position_embeddings"}) * h + (1 + v.size_of("deepstack_visual_indexes")) * merger + 2 * h;
}

/// Gated MLPs, positions of both axes, one projection.
std::uint64_t gemma_tower(TowerKeys& v, std::uint64_t out) {
  const std::uint64_t h = v.of({"hidden_size"}, kMostHeadWidth * 4), f = v.of({"intermediate_size"});
  const std::uint64_t heads = v.of({"num_attention_heads"}, kMostHeadWidth), d = v.of({"head_dim"}, kMostHeadWidth);
  const std::uint64_t patch = v.of({"patch_size"}, 256);
  const std::uint64_t layer = 4 * h * heads * d + 3 * h * f + 4 * h + 2 * d;
  return v.of({"num_hidden_layers"}, kMostHeadWidth) * layer + kColours * patch * patch * h +
         2 * v.or_else({"position_embedding_size"}, 0) * h + h * out;
}

std::uint64_t kimi_tower(TowerKeys& v, std::uint64_t out) {
  const std::uint64_t h = v.of({"vt_hidden_size"}, kMostHeadWidth * 4), f = v.of({"vt_intermediate_size"});
  const std::uint64_t qkv = v.or_else({"qkv_hidden_size"}, static_cast<std::uint32_t>(h)),
                      patch = v.of({"patch_size"}, 256);
  const std::uint64_t layer = 4 * h * qkv + 3 * qkv + h + 2 * h * f + f + h + 4 * h;
  constexpr std::uint64_t kMerged = 4;  // patches
  const std::uint64_t wide = kMerged * h,
                      positions = v.or_else({"init_pos_emb_height"}, 64) * v.or_else({"init_pos_emb_width"}, 64);
  return v.of({"vt_num_hidden_layers"}, kMostHeadWidth) * layer + kColours * patch * patch * h + positions * h +
         wide * wide + wide * out + 2 * h;
}

}  // namespace

void read_towers(HuggingFaceKeys& root, workload::ModelSpec& m) {
  const auto leave_out = [&](const char* key, const char* what) {
    if (const auto map = root.find({key}); map && map->kind() == YamlNode::Kind::kMap && map->size() > 0)
      m.notes.push_back(fmt::format("{} is not counted: {}", what, key));
  };
  leave_out("audio_config", "what hears sound");
  const auto map = root.find({"vision_config"});
  if (!map || map->kind() != YamlNode::Kind::kMap || map->size() == 0) return;
  TowerKeys v(*map);
  const HuggingFaceKeys words(*map);
  const std::string type = words.word({"model_type"});
  std::uint64_t parameters = 0;
  if (type.starts_with("qwen3"))
    parameters = qwen_tower(v);
  else if (type == "gemma4_vision")
    parameters = gemma_tower(v, m.hidden);
  else if (words.has({"vt_hidden_size"}))
    parameters = kimi_tower(v, m.hidden);
  else
    return leave_out("vision_config", "what sees images");
  if (!v.status().ok()) return root.fail({"vision_config"}, v.status().error().text());
  m.towers.push_back({"vision", parameters});
  m.notes.push_back(fmt::format("what sees images is counted ({:.3g}e9 parameters), but no step computes it",
                                static_cast<double>(parameters) * 1e-9));
}

}  // namespace busbar::spec
