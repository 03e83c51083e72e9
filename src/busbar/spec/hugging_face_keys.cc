#include "busbar/spec/internal/hugging_face_keys.h"

#include <fmt/core.h>

namespace busbar {
namespace {

bool has_value(const std::optional<YamlNode>& node) { return node && node->kind() != YamlNode::Kind::kNull; }

}  // namespace

std::optional<YamlNode> HuggingFaceKeys::find(KeyNames names) const {
  for (const char* name : names) {
    if (const auto node = map_.find(name); has_value(node)) return node;
    for (const char* inner : {"ffn_config", "attn_config"}) {
      const auto map = map_.find(inner);
      if (!map || map->kind() != YamlNode::Kind::kMap) continue;
      if (const auto node = map->find(name); has_value(node)) return node;
    }
  }
  return std::nullopt;
}

std::uint32_t HuggingFaceKeys::need(KeyNames names, std::int64_t most) {
  if (!has(names)) {
    std::string all;
    for (const char* name : names) all += (all.empty() ? "" : " or ") + std::string(name);
    fail({}, fmt::format("{} is missing", all));
  }
  return read(names, 0, most);
}

std::uint32_t HuggingFaceKeys::read(KeyNames names, std::uint32_t otherwise, std::int64_t most, std::int64_t low) {
  const auto node = find(names);
  if (!node || !status_.ok()) return otherwise;
  const auto value = node->as_int(low, most);
  if (value.ok()) return static_cast<std::uint32_t>(*value);
  status_ = value.error();
  return otherwise;
}

bool HuggingFaceKeys::flag(KeyNames names, bool otherwise) {
  const auto node = find(names);
  if (!node || !status_.ok()) return otherwise;
  const auto value = node->as_bool();
  if (value.ok()) return *value;
  status_ = value.error();
  return otherwise;
}

std::string HuggingFaceKeys::word(KeyNames names) const {
  const auto node = find(names);
  return node && node->kind() == YamlNode::Kind::kScalar ? node->scalar() : std::string();
}

void HuggingFaceKeys::fail(KeyNames names, std::string message) {
  if (!status_.ok()) return;
  const auto node = find(names);
  status_ = (node ? *node : map_).error(std::move(message));
}

}  // namespace busbar
