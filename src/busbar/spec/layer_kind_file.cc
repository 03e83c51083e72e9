#include "busbar/spec/internal/layer_kind_file.h"

#include <fmt/core.h>

#include <functional>

#include "busbar/base/text.h"
#include "busbar/spec/internal/model_bounds.h"

namespace busbar::spec {
namespace {

struct MixerWord {
  const char* word;
  workload::MixerKind kind;
  workload::StateRule rule;
};
constexpr MixerWord kMixers[] = {{"none", workload::MixerKind::kNone, {}},
                                 {"attention", workload::MixerKind::kAttention, {}},
                                 {"latent", workload::MixerKind::kLatent, {}},
                                 {"compressed", workload::MixerKind::kCompressed, {}},
                                 {"delta", workload::MixerKind::kState, workload::StateRule::kDelta},
                                 {"mamba", workload::MixerKind::kState, workload::StateRule::kMamba},
                                 {"lightning", workload::MixerKind::kState, workload::StateRule::kLightning},
                                 {"convolution", workload::MixerKind::kState, workload::StateRule::kConvolution}};

const char* word_of(const workload::MixerSpec& m) {
  for (const MixerWord& w : kMixers)
    if (w.kind == m.kind && (m.kind != workload::MixerKind::kState || w.rule == m.state.rule)) return w.word;
  return "none";
}

/// Calls `number` or `flag` with the key, the value and the most it can be, of everything a kind has.
template <typename Kind, typename Number, typename Flag>
void visit(Kind& k, Number number, Flag flag) {
  auto& m = k.mixer;
  auto& s = m.state;
  number("ffn", k.ffn, kMostWidth);
  flag("experts", k.experts);
  number("heads", m.heads, kMostHeads);
  number("kv_heads", m.kv_heads, kMostHeads);
  number("head_dim", m.head_dim, kMostHeadWidth);
  number("v_dim", m.v_dim, kMostHeadWidth);
  number("window", m.window, kMostWindow);
  flag("gate", m.gate);
  flag("keys_are_values", m.keys_are_values);
  flag("qk_norm", m.qk_norm);
  number("q_rank", m.latent.q_rank, kMostRank);
  number("kv_rank", m.latent.kv_rank, kMostRank);
  number("nope_dim", m.latent.nope_dim, kMostHeadWidth);
  number("rope_dim", m.latent.rope_dim, kMostHeadWidth);
  number("latent_v_dim", m.latent.v_dim, kMostHeadWidth);
  number("index_heads", m.indexer.heads, kMostHeads);
  number("index_dim", m.indexer.dim, kMostHeadWidth);
  number("index_keys", m.indexer.keys, kMostWindow);
  number("ratio", m.compression.ratio, kMostWindow);
  number("out_groups", m.compression.out_groups, kMostHeads);
  number("out_rank", m.compression.out_rank, kMostRank);
  number("state_heads", s.heads, kMostHeads);
  number("state_key_heads", s.key_heads, kMostHeads);
  number("key_dim", s.key_dim, kMostHeadWidth);
  number("value_dim", s.value_dim, kMostHeadWidth);
  number("conv", s.conv, kMostHeadWidth);
  number("chunk", s.chunk, kMostWidth);
  number("decay_rank", s.decay_rank, kMostRank);
  number("gate_rank", s.gate_rank, kMostRank);
}

}  // namespace

std::string layer_kind_text(const workload::LayerKind& kind) {
  std::string text = fmt::format("mixer: {}", word_of(kind.mixer));
  const bool state = kind.mixer.kind == workload::MixerKind::kState;
  visit(
      kind,
      [&](const char* key, std::uint32_t value, std::int64_t) {
        if (value > 0 && (state || std::string_view(key) != "chunk"))
          append_word(text, fmt::format("{}: {}", key, value));
      },
      [&](const char* key, bool value) {
        if (value) append_word(text, fmt::format("{}: true", key));
      });
  return "{" + text + "}";
}

Result<workload::LayerKind> read_layer_kind(const YamlNode& node) {
  workload::LayerKind kind;
  MapReader r(node);
  std::string word;
  r.required("mixer", &YamlNode::as_string, word);
  const MixerWord* known = nullptr;
  for (const MixerWord& w : kMixers)
    if (word == w.word) known = &w;
  if (r.ok() && known == nullptr)
    r.fail(node.find("mixer")->error(
        "'" + word +
        "' mixes no tokens; write none, attention, latent, compressed, delta, mamba, lightning or "
        "convolution"));
  if (known != nullptr) kind.mixer.kind = known->kind, kind.mixer.state.rule = known->rule;
  visit(
      kind,
      [&](const char* key, std::uint32_t& value, std::int64_t most) {
        r.optional(key, &YamlNode::as_int, value, 0, most);
      },
      [&](const char* key, bool& value) { r.optional(key, &YamlNode::as_bool, value); });
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return kind;
}

}  // namespace busbar::spec
