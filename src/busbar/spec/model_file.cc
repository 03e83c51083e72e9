#include "busbar/spec/model_file.h"

#include <filesystem>

namespace busbar {
namespace {

void read_sizes(MapReader& reader, ModelSpec& m) {
  const auto size = [&](const char* key, std::int64_t most, std::uint32_t& out) {
    const YamlNode node = reader.required(key);
    if (!reader.ok()) return;
    const auto value = node.as_int(1, most);
    if (!value.ok()) return reader.fail(value.error());
    out = static_cast<std::uint32_t>(*value);
    m.places[key] = node.where();
  };
  // Each bound is far above any model, and all products of them stay below 2^63.
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
  BUSBAR_RETURN_IF_ERROR(reader.finish());
  BUSBAR_RETURN_IF_ERROR(check_model(m));
  return m;
}

}  // namespace busbar
