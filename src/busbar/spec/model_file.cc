#include "busbar/spec/model_file.h"

#include <filesystem>
#include <optional>

namespace busbar {
namespace {

/// Reads a whole number of at least `low`; required if `low` is at least 1.
void read_number(MapReader& reader, const char* key, std::int64_t low, std::int64_t most, std::uint32_t& out) {
  const std::optional<YamlNode> node = low > 0 ? reader.required(key) : reader.optional(key);
  if (!reader.ok() || !node) return;
  const auto value = node->as_int(low, most);
  if (!value.ok()) return reader.fail(value.error());
  out = static_cast<std::uint32_t>(*value);
}

Status read_experts(const YamlNode& map, ExpertSpec& out) {
  MapReader r(map);
  read_number(r, "experts", 1, 1 << 14, out.experts);
  read_number(r, "per_token", 1, 1 << 14, out.per_token);
  read_number(r, "ffn", 1, 1 << 22, out.ffn);
  read_number(r, "shared", 0, 1 << 10, out.shared);
  read_number(r, "dense_layers", 0, 1 << 15, out.dense_layers);
  return r.finish();
}

Status read_latent(const YamlNode& map, LatentAttentionSpec& out) {
  MapReader r(map);
  read_number(r, "q_rank", 1, 1 << 20, out.q_rank);
  read_number(r, "kv_rank", 1, 1 << 20, out.kv_rank);
  read_number(r, "nope_dim", 1, 1 << 12, out.nope_dim);
  read_number(r, "rope_dim", 1, 1 << 12, out.rope_dim);
  read_number(r, "v_dim", 1, 1 << 12, out.v_dim);
  return r.finish();
}

void read_sizes(MapReader& reader, ModelSpec& m) {
  const auto size = [&](const char* key, std::int64_t most, std::uint32_t& out) {
    read_number(reader, key, 1, most, out);
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
