#include "busbar/spec/internal/node_base.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "busbar/base/text.h"

namespace busbar::spec {
namespace {

constexpr std::size_t kDeepest = 8;

using Values = std::map<std::string, YamlNode, std::less<>>;

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/// A value becomes part of a file's text, so it must be a single word.
Status check_value(const YamlNode& value, std::string_view name) {
  const std::string& s = value.scalar();
  if (value.kind() == YamlNode::Kind::kScalar && !s.empty() && s.size() <= 64 &&
      std::all_of(s.begin(), s.end(), is_word_char)) {
    return {};
  }
  return value.error(fmt::format("the parameter '{}' takes one word or number", name));
}

/// Replaces `$name` by its value. The reader of the key refuses unknown names later.
std::string substitute(const std::string& text, const Values& values) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i + 1;
    while (text[i] == '$' && end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || text[end] == '_')) ++end;
    const auto it = end > i + 1 ? values.find(std::string_view(text).substr(i + 1, end - i - 1)) : values.end();
    if (it == values.end()) {
      out += text[i];
      continue;
    }
    out += it->second.scalar();
    i = end - 1;
  }
  return out;
}

/// The file at the bottom, and the maps that build on it, topmost first.
struct Chain {
  std::vector<YamlNode> derived;
  YamlDocument bottom;
};

Result<Chain> follow(YamlNode value, Reading& reading) {
  Chain chain;
  while (true) {
    std::string name;
    if (value.kind() == YamlNode::Kind::kScalar) {
      name = value.scalar();
    } else {
      const auto base = value.find("base");
      if (!base) return value.error("a node needs 'devices' or 'base', the name of a node in the catalogue");
      BUSBAR_ASSIGN(name, base->as_string());
      if (chain.derived.size() == kDeepest) return base->error(fmt::format("more than {} bases deep", kDeepest));
      chain.derived.push_back(value);
      value = *base;
    }
    auto document = reading.catalog.load("nodes", name);
    if (!document.ok()) {
      if (document.error().where.file.empty()) document.error().where = value.where();
      return document.error();
    }
    reading.text += document->text();
    if (!document->root().find("base")) {
      chain.bottom = std::move(*document);
      return chain;
    }
    value = document->root();
  }
}

/// Values of the bottom's parameters: its defaults, overridden by the maps above.
Result<Values> values_of(const Chain& chain) {
  Values out;
  std::vector<std::string> names;
  if (const auto own = chain.bottom.root().find("parameters")) {
    for (std::size_t i = 0; i < own->size(); ++i) {
      BUSBAR_RETURN_IF_ERROR(check_value(own->item(i), own->key(i)));
      out.insert_or_assign(own->key(i), own->item(i));
      names.push_back(own->key(i));
    }
  }
  for (auto map = chain.derived.rbegin(); map != chain.derived.rend(); ++map) {
    for (std::size_t i = 0; i < map->size(); ++i) {
      const std::string key = map->key(i);
      if (key == "base" || is_node_key(key)) continue;
      const auto it = out.find(key);
      if (it == out.end()) {
        const std::string all = "it has: " + (names.empty() ? "none" : comma_list(names));
        return invalid(fmt::format("this node has no parameter '{}'; {}", key, suggestion(key, names, all)),
                       map->key_where(i));
      }
      BUSBAR_RETURN_IF_ERROR(check_value(map->item(i), key));
      it->second = map->item(i);
    }
  }
  return out;
}

}  // namespace

bool is_node_key(std::string_view key) {
  static constexpr std::string_view kKeys[] = {"name",      "devices", "links",  "fabric",     "protocol", "price",
                                               "gpudirect", "p2p",     "source", "confidence", "note",     "parameters",
                                               "power",     "hall",    "ocs",    "aliases"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

Result<std::vector<NodeParameter>> node_parameters(const YamlNode& value, Reading& reading) {
  BUSBAR_ASSIGN(const Chain chain, follow(value, reading));
  BUSBAR_ASSIGN(const Values values, values_of(chain));
  std::vector<NodeParameter> out;
  const auto own = chain.bottom.root().find("parameters");
  for (std::size_t i = 0; own && i < own->size(); ++i)
    out.push_back({own->key(i), values.find(own->key(i))->second.scalar()});
  return out;
}

Result<YamlNode> resolve_node(const YamlNode& value, Reading& reading) {
  const bool whole = value.kind() != YamlNode::Kind::kScalar && !value.find("base");
  if (whole) return value;
  BUSBAR_ASSIGN(const Chain chain, follow(value, reading));
  BUSBAR_ASSIGN(const Values values, values_of(chain));
  const std::string file = chain.bottom.root().where().file;
  BUSBAR_ASSIGN(YamlDocument document, YamlDocument::parse(substitute(chain.bottom.text(), values), file));
  for (auto map = chain.derived.rbegin(); map != chain.derived.rend(); ++map) {
    for (std::size_t i = 0; i < map->size(); ++i) {
      const std::string key = map->key(i);
      if (is_node_key(key)) BUSBAR_RETURN_IF_ERROR(document.replace(key, map->item(i)));
    }
  }
  return document.root();
}

}  // namespace busbar::spec
