#include "busbar/spec/model_file.h"

#include <filesystem>

namespace busbar {
namespace {

constexpr std::int64_t kMost = 1 << 28;  // far above any model, far below overflow of products

void read_sizes(MapReader& reader, ModelSpec& m) {
  const auto size = [&](const char* key, std::uint32_t& out) {
    const YamlNode node = reader.required(key);
    if (!reader.ok()) return;
    const auto value = node.as_int(1, kMost);
    if (!value.ok()) return reader.fail(value.error());
    out = static_cast<std::uint32_t>(*value);
    m.places[key] = node.where();
  };
  size("layers", m.layers);
  size("hidden", m.hidden);
  size("ffn", m.ffn);
  size("heads", m.heads);
  size("kv_heads", m.kv_heads);
  size("head_dim", m.head_dim);
  size("vocab", m.vocab);
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
