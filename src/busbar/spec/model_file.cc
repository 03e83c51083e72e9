#include "busbar/spec/model_file.h"

#include <filesystem>

namespace busbar {
namespace {

Status read_experts(const YamlNode& map, ExpertSpec& out) {
  MapReader r(map);
  r.required("experts", &YamlNode::as_int, out.experts, 1, 1 << 14);
  r.required("per_token", &YamlNode::as_int, out.per_token, 1, 1 << 14);
  r.required("ffn", &YamlNode::as_int, out.ffn, 1, 1 << 22);
  r.optional("shared", &YamlNode::as_int, out.shared, 0, 1 << 10);
  r.optional("dense_layers", &YamlNode::as_int, out.dense_layers, 0, 1 << 15);
  r.optional("every", &YamlNode::as_int, out.every, 1, 1 << 15);
  r.optional("most_nodes", &YamlNode::as_int, out.most_nodes, 1, 1 << 14);
  return r.finish();
}

Status read_latent(const YamlNode& map, LatentAttentionSpec& out) {
  MapReader r(map);
  r.optional("q_rank", &YamlNode::as_int, out.q_rank, 1, 1 << 20);
  r.required("kv_rank", &YamlNode::as_int, out.kv_rank, 1, 1 << 20);
  r.required("nope_dim", &YamlNode::as_int, out.nope_dim, 1, 1 << 12);
  r.required("rope_dim", &YamlNode::as_int, out.rope_dim, 1, 1 << 12);
  r.required("v_dim", &YamlNode::as_int, out.v_dim, 1, 1 << 12);
  return r.finish();
}

void read_sizes(MapReader& reader, ModelSpec& m) {
  const auto size = [&](const char* key, std::int64_t most, std::uint32_t& out) {
    reader.required(key, &YamlNode::as_int, out, 1, most);
    if (reader.ok()) m.places[key] = reader.required(key).where();
  };
  // Each bound is far above any model, and all products of the bounds stay below 2^63.
  size("layers", 1 << 15, m.layers);
  size("hidden", 1 << 20, m.hidden);
  size("ffn", 1 << 22, m.ffn);
  size("heads", 1 << 14, m.heads);
  size("kv_heads", 1 << 14, m.kv_heads);
  size("head_dim", 1 << 12, m.head_dim);
  size("vocab", 1 << 26, m.vocab);
}

}  // namespace

bool looks_like_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

Result<YamlDocument> find_document(std::string_view folder, std::string_view name, const std::string& directory,
                                   const Catalog& catalog) {
  if (!looks_like_file(name)) return catalog.load(folder, name);
  const std::filesystem::path path{std::string(name)};
  return YamlDocument::load((path.is_absolute() ? path : std::filesystem::path(directory) / path).string());
}

Result<ModelSpec> read_model(const YamlNode& node) {
  ModelSpec m;
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
  reader.optional("mtp", &YamlNode::as_int, m.mtp, 0, 16);
  reader.inner("window", [&](MapReader& r) {
    r.required("tokens", &YamlNode::as_int, m.window.tokens, 1, 1 << 30);
    r.optional("full_every", &YamlNode::as_int, m.window.full_every, 2, 1 << 15);
  });
  reader.optional("source", &YamlNode::as_string, m.source);
  reader.optional("note");
  const auto moe = reader.optional("moe"), latent = reader.optional("latent_attention");
  BUSBAR_RETURN_IF_ERROR(reader.finish());
  if (moe) {
    m.places["moe"] = moe->where();
    BUSBAR_RETURN_IF_ERROR(read_experts(*moe, m.moe));
  }
  if (latent) {
    m.places["latent_attention"] = latent->where();
    BUSBAR_RETURN_IF_ERROR(read_latent(*latent, m.latent));
  }
  BUSBAR_RETURN_IF_ERROR(check_model(m));
  return m;
}

}  // namespace busbar
