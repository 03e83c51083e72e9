#include "busbar/spec/model_file.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <utility>

#include "busbar/base/text.h"
#include "busbar/spec/internal/hugging_face_model.h"
#include "busbar/spec/internal/layer_kind_file.h"
#include "busbar/spec/internal/model_bounds.h"

namespace busbar::spec {
namespace {

Status read_experts(const YamlNode& map, workload::ExpertSpec& out) {
  MapReader r(map);
  r.required("experts", &YamlNode::as_int, out.experts, 1, kMostExperts);
  r.required("per_token", &YamlNode::as_int, out.per_token, 1, kMostExperts);
  r.required("ffn", &YamlNode::as_int, out.ffn, 1, kMostWidth);
  r.optional("shared", &YamlNode::as_int, out.shared, 0, kMostShared);
  r.optional("dense_layers", &YamlNode::as_int, out.dense_layers, 0, kMostLayers);
  r.optional("every", &YamlNode::as_int, out.every, 1, kMostLayers);
  r.optional("most_nodes", &YamlNode::as_int, out.most_nodes, 1, kMostExperts);
  r.optional("biases", &YamlNode::as_bool, out.biases);
  r.optional("hidden", &YamlNode::as_int, out.hidden, 1, kMostHidden);
  return r.finish();
}

Status read_latent(const YamlNode& map, workload::LatentAttentionSpec& out) {
  MapReader r(map);
  r.optional("q_rank", &YamlNode::as_int, out.q_rank, 1, kMostRank);
  r.required("kv_rank", &YamlNode::as_int, out.kv_rank, 1, kMostRank);
  r.required("nope_dim", &YamlNode::as_int, out.nope_dim, 1, kMostHeadWidth);
  r.required("rope_dim", &YamlNode::as_int, out.rope_dim, 1, kMostHeadWidth);
  r.required("v_dim", &YamlNode::as_int, out.v_dim, 1, kMostHeadWidth);
  return r.finish();
}

void read_sizes(MapReader& reader, workload::ModelSpec& m) {
  const auto size = [&](const char* key, std::int64_t most, std::uint32_t& out) {
    reader.required(key, &YamlNode::as_int, out, 1, most);
    if (reader.ok()) m.places[key] = reader.required(key).where();
  };
  size("layers", kMostLayers, m.layers);
  size("hidden", kMostHidden, m.hidden);
  size("ffn", kMostWidth, m.ffn);
  size("heads", kMostHeads, m.heads);
  size("kv_heads", kMostHeads, m.kv_heads);
  size("head_dim", kMostHeadWidth, m.head_dim);
  size("vocab", kMostVocabulary, m.vocab);
}

/// A map in braces, one entry at a time.
class MapText {
 public:
  void add(const char* key, const std::string& value) { append_word(text_, fmt::format("{}: {}", key, value)); }
  void add(const char* key, std::uint32_t value) { add(key, std::to_string(value)); }
  void add_unless(const char* key, std::uint32_t value, std::uint32_t usual) {
    if (value != usual) add(key, value);
  }
  void add_if(const char* key, bool value) {
    if (value) add(key, "true");
  }
  std::string braces() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string text_of(const workload::ExpertSpec& e) {
  MapText t;
  t.add("experts", e.experts);
  t.add("per_token", e.per_token);
  t.add("ffn", e.ffn);
  t.add_unless("shared", e.shared, 0);
  t.add_unless("dense_layers", e.dense_layers, 0);
  t.add_unless("every", e.every, 1);
  t.add_unless("most_nodes", e.most_nodes, 0);
  t.add_if("biases", e.biases);
  t.add_unless("hidden", e.hidden, 0);
  return t.braces();
}

std::string text_of(const workload::LatentAttentionSpec& l) {
  MapText t;
  t.add_unless("q_rank", l.q_rank, 0);
  t.add("kv_rank", l.kv_rank);
  t.add("nope_dim", l.nope_dim);
  t.add("rope_dim", l.rope_dim);
  t.add("v_dim", l.v_dim);
  return t.braces();
}

/// In double quotes; characters that have a meaning there are left out.
std::string plain_quoted(std::string name) {
  std::erase_if(name, [](unsigned char c) { return c == '"' || c == '\\' || c < ' '; });
  return "\"" + name + "\"";
}

std::string kinds_text(const workload::ModelSpec& m) {
  std::string text;
  for (const workload::LayerKind& kind : m.kinds) append_word(text, layer_kind_text(kind));
  return "[" + text + "]";
}

/// Kinds by number, and the number of each layer's kind; one more of multi-token prediction.
Status read_kinds(const YamlNode& kinds, const YamlNode& order, workload::ModelSpec& m) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    BUSBAR_ASSIGN(const workload::LayerKind kind, read_layer_kind(kinds.item(i)));
    m.kinds.push_back(kind);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    BUSBAR_ASSIGN(const std::int64_t n, order.item(i).as_int(0, static_cast<std::int64_t>(m.kinds.size()) - 1));
    m.kind_of.push_back(static_cast<std::uint16_t>(n));
  }
  if (m.kind_of.size() == m.layers && m.mtp == 0 && m.layers > 0) m.kind_of.push_back(m.kind_of.back());
  return {};
}

}  // namespace

std::string model_text(const workload::ModelSpec& m) {
  MapText t;
  t.add("name", plain_quoted(m.name));
  const std::pair<const char*, std::uint32_t> sizes[] = {
      {"layers", m.layers},     {"hidden", m.hidden},     {"ffn", m.ffn},    {"heads", m.heads},
      {"kv_heads", m.kv_heads}, {"head_dim", m.head_dim}, {"vocab", m.vocab}};
  for (const auto& [key, value] : sizes) t.add(key, value);
  t.add("mlp", m.gated_mlp ? "gated" : "plain");
  t.add_if("tied_embeddings", m.tied_embeddings);
  t.add_if("qk_norm", m.qk_norm);
  t.add_unless("mtp", m.mtp, 0);
  MapText window;
  window.add("tokens", m.window.tokens);
  window.add_unless("full_every", m.window.full_every, 0);
  if (m.window.tokens > 0) t.add("window", window.braces());
  if (m.moe.experts > 0) t.add("moe", text_of(m.moe));
  if (!m.kinds.empty()) t.add("layer_kinds", kinds_text(m));
  if (!m.kind_of.empty()) t.add("layer_order", fmt::format("[{}]", fmt::join(m.kind_of, ", ")));
  if (const std::uint64_t n = workload::tower_parameters(m); n > 0) t.add("tower_parameters", std::to_string(n));
  if (m.latent.kv_rank > 0) t.add("latent_attention", text_of(m.latent));
  return t.braces();
}

bool looks_like_file(std::string_view name) {
  return name == "-" || name.find('/') != std::string_view::npos || name.ends_with(".yaml") || name.ends_with(".yml") ||
         name.ends_with(".json");
}

Result<YamlDocument> find_document(std::string_view folder, std::string_view name, const std::string& directory,
                                   const Catalog& catalog) {
  if (name.starts_with('{')) return YamlDocument::parse(std::string(name), "{...}");
  if (!looks_like_file(name)) return catalog.load(folder, name);
  if (name == "-") return YamlDocument::load("-");
  const std::filesystem::path path{std::string(name)};
  return YamlDocument::load((path.is_absolute() ? path : std::filesystem::path(directory) / path).string());
}

Result<workload::ModelSpec> read_model(const YamlNode& node) {
  if (is_hugging_face_config(node)) return read_hugging_face(node);
  workload::ModelSpec m;
  MapReader reader(node);
  reader.required("name", &YamlNode::as_string, m.name);
  read_sizes(reader, m);
  std::string mlp = "gated";
  reader.required("mlp", &YamlNode::as_string, mlp);
  if (reader.ok() && mlp != "gated" && mlp != "plain") {
    reader.fail(node.find("mlp")->error("'" + mlp + "' is not a kind of MLP; write gated or plain"));
  }
  m.gated_mlp = mlp == "gated";
  reader.optional("tied_embeddings", &YamlNode::as_bool, m.tied_embeddings);
  reader.optional("qk_norm", &YamlNode::as_bool, m.qk_norm);
  reader.optional("mtp", &YamlNode::as_int, m.mtp, 0, kMostPredictors);
  reader.inner("window", [&](MapReader& r) {
    r.required("tokens", &YamlNode::as_int, m.window.tokens, 1, kMostWindow);
    r.optional("full_every", &YamlNode::as_int, m.window.full_every, 2, kMostLayers);
  });
  reader.inner("recipe", [&](MapReader& r) {
    r.required("batch_tokens", &YamlNode::as_int, m.recipe.batch_tokens, 1, kMostBatchTokens);
    r.required("source", &YamlNode::as_string, m.recipe.source);
    r.optional("confidence");
  });
  reader.optional("source", &YamlNode::as_string, m.source);
  reader.optional("note");
  std::uint64_t towers = 0;
  reader.optional("tower_parameters", &YamlNode::as_int, towers, 1, kMostTower);
  const auto moe = reader.optional("moe"), latent = reader.optional("latent_attention");
  const auto kinds = reader.optional("layer_kinds"), order = reader.optional("layer_order");
  if (kinds.has_value() != order.has_value())
    reader.fail((kinds ? *kinds : *order).error("layer_kinds and layer_order go together; give both"));
  BUSBAR_RETURN_IF_ERROR(reader.finish());
  if (moe) {
    m.places["moe"] = moe->where();
    BUSBAR_RETURN_IF_ERROR(read_experts(*moe, m.moe));
  }
  if (latent) {
    m.places["latent_attention"] = latent->where();
    BUSBAR_RETURN_IF_ERROR(read_latent(*latent, m.latent));
  }
  if (kinds) {
    m.places["layer_kinds"] = order->where();
    BUSBAR_RETURN_IF_ERROR(read_kinds(*kinds, *order, m));
  }
  if (towers > 0) m.towers.push_back({"towers", towers});
  BUSBAR_RETURN_IF_ERROR(workload::check_model(m));
  return m;
}

}  // namespace busbar::spec
