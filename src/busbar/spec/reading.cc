#include "busbar/spec/reading.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/text.h"

namespace busbar::spec {

Result<YamlNode> Reading::open(std::string_view folder, std::string_view name) {
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load(folder, name));
  text += document.text();
  return document.root();
}

Result<YamlNode> Reading::resolve(const YamlNode& node, std::string_view folder) {
  if (node.kind() != YamlNode::Kind::kScalar) return node;
  auto found = open(folder, node.scalar());
  if (!found.ok() && found.error().where.file.empty()) found.error().where = node.where();
  return found;
}

void Reading::note(std::string what, const YamlNode& map) {
  std::string from;
  for (const char* key :
       {"source", "efficiency_source", "latency_source", "cable_source", "fec_source", "routing_source"}) {
    if (const auto s = map.find(key)) from += (from.empty() ? "" : "; ") + s->scalar();
  }
  if (from.empty()) return;
  if (const auto c = map.find("confidence")) from += fmt::format(" (confidence {})", c->scalar());
  std::string line = fmt::format("{}: {}", what, from);
  if (std::find(sources.begin(), sources.end(), line) == sources.end()) sources.push_back(std::move(line));
}

MapReader sourced(const YamlNode& map) {
  MapReader reader(map);
  for (const char* key : {"source", "confidence", "note", "efficiency_source", "latency_source", "cable_source",
                          "fec_source", "routing_source"})
    reader.optional(key);
  return reader;
}

Result<std::size_t> as_one_of(const YamlNode& node, const std::vector<std::string>& names, std::string_view what) {
  BUSBAR_ASSIGN(const std::string word, node.as_string());
  const auto it = std::find(names.begin(), names.end(), word);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  return node.error(
      fmt::format("'{}' is not a {}; {}", word, what, suggestion(word, names, "use one of " + comma_list(names))));
}

Result<topology::LinkKind> as_link_kind(const YamlNode& node) {
  return as_enum(node, topology::LinkKind::kIdeal, &topology::name_of, "kind of link");
}

Result<topology::RoutingPolicy> as_routing_policy(const YamlNode& node) {
  return as_enum(node, topology::kLastRoutingPolicy, &topology::name_of, "routing policy");
}

}  // namespace busbar::spec
