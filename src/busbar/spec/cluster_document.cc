#include "busbar/spec/cluster_document.h"

#include <fmt/core.h>

#include "busbar/base/input.h"
#include "busbar/base/text.h"
#include "busbar/spec/internal/node_base.h"
#include "busbar/spec/model_file.h"

namespace busbar::spec {
namespace {

bool is_file(std::string_view name) {
  return names_input(std::string(name)) || name.ends_with(".yaml") || name.ends_with(".yml");
}

/// "dgx-h100:64" as a document.
Result<YamlDocument> preset(std::string_view name, Reading& reading) {
  const std::size_t colon = name.find(':');
  const std::string node = reading.catalog.entry_of("nodes", name.substr(0, colon));
  std::int64_t nodes = 1;
  if (colon != std::string_view::npos) {
    const std::string_view number = name.substr(colon + 1);
    if (!is_number(number, nodes) || nodes < 1 || nodes > kMaxNodes) {
      return invalid(fmt::format("cluster '{}': the number of nodes must be between 1 and {}", name, kMaxNodes));
    }
  }
  if (!reading.catalog.has("nodes", node)) {
    auto missing = reading.catalog.load("nodes", node);
    Error error = missing.ok() ? invalid("not a node") : missing.error();
    error.message = fmt::format("cluster '{}': no such file, and {}", name, error.message);
    return error;
  }
  const std::string_view size = colon == std::string_view::npos ? std::string_view() : name.substr(colon);
  const std::string text = fmt::format("name: \"{}{}\"\nnode: {}\nnodes: {}\n", node, size, node, nodes);
  return YamlDocument::parse(text, std::string(name));
}

/// Replaces the name at `path` by the content of the file with this name.
Status expand(YamlDocument& document, const std::optional<YamlNode>& value, std::string_view path,
              std::string_view folder, Reading& reading) {
  if (!value || value->kind() != YamlNode::Kind::kScalar || value->scalar() == "none") return {};
  BUSBAR_ASSIGN(const YamlNode file,
                folder == "nodes" ? resolve_node(*value, reading) : reading.resolve(*value, folder));
  return document.replace(path, file);
}

/// Copies `key` from the node if the cluster itself does not have it.
Status inherit(YamlDocument& document, std::string_view key, Reading& reading) {
  const YamlNode root = document.root();
  const auto node = root.find("node");
  if (root.find(key) || !node) return {};
  BUSBAR_ASSIGN(const YamlNode map, resolve_node(*node, reading));
  const auto value = map.find(key);
  return value ? document.replace(key, *value) : Status();
}

/// For a key inside `devices` or `links` the whole node is expanded; for a parameter or a default a map is enough.
Status prepare_node(YamlDocument& document, std::string_view rest, Reading& reading) {
  const auto node = document.root().find("node");
  if (!node) return {};
  if (rest.starts_with(".devices") || rest.starts_with(".links")) {
    if (node->kind() == YamlNode::Kind::kMap && !node->find("base")) return {};
    BUSBAR_ASSIGN(const YamlNode whole, resolve_node(*node, reading));
    return document.replace("node", whole);
  }
  if (node->kind() != YamlNode::Kind::kScalar) return {};
  BUSBAR_ASSIGN(const YamlDocument map,
                YamlDocument::parse(fmt::format("base: \"{}\"\n", node->scalar()), node->where().file));
  return document.replace("node", map.root());
}

/// Expands or copies the parts along `path` so that it can be followed.
Status prepare(YamlDocument& document, std::string_view path, Reading& reading) {
  const std::size_t end = path.find_first_of(".[");
  if (end == std::string_view::npos) return {};
  const std::string_view first = path.substr(0, end), rest = path.substr(end);
  if (first == "node") return prepare_node(document, rest, reading);
  if (first == "packet") {
    const auto profile = document.root().find("packet");
    if (profile && looks_like_file(profile->scalar())) return {};
    return expand(document, profile, "packet", "packets", reading);
  }
  if (first != "fabric" && first != "protocol" && first != "price" && first != "hall") return {};
  BUSBAR_RETURN_IF_ERROR(inherit(document, first, reading));
  if (first == "protocol") {
    return expand(document, document.root().find("protocol"), "protocol", "protocols", reading);
  }
  if (first != "fabric") return {};
  BUSBAR_RETURN_IF_ERROR(expand(document, document.root().find("fabric"), "fabric", "fabrics", reading));
  if (!rest.starts_with(".network.")) return {};
  const auto fabric = document.root().find("fabric");
  return fabric ? expand(document, fabric->find("network"), "fabric.network", "networks", reading) : Status();
}

/// Leaves the first `nodes` nodes.
Status keep_nodes(std::uint32_t nodes, YamlDocument& document, Reading& reading) {
  std::int64_t has = 1;
  const auto key = document.root().find("nodes"), name = document.root().find("name");
  if (key) {
    BUSBAR_ASSIGN(has, key->as_int(1, kMaxNodes));
  }
  const std::string machine = name ? name->scalar() : "the machine";
  if (document.root().find("more_nodes"))
    return invalid(
        fmt::format("{} has servers of several kinds, which stay together; change their numbers in the file", machine),
        {"", 0, 0, "--nodes"});
  if (nodes > has)
    return invalid(too_few(nodes, "nodes", machine, static_cast<std::uint64_t>(has)), {"", 0, 0, "--nodes"});
  if (machine == fmt::format("{}:{}", machine.substr(0, machine.find(':')), has))  // a preset
    BUSBAR_RETURN_IF_ERROR(document.set("name", fmt::format("{}:{}", machine.substr(0, machine.find(':')), nodes)));
  reading.text += fmt::format("--nodes {}\n", nodes);
  return document.set("nodes", std::to_string(nodes));
}

}  // namespace

std::optional<std::string> cluster_key(std::string_view path) {
  constexpr std::string_view kPrefix = "cluster.";
  const bool prefixed = path.starts_with(kPrefix);
  if (prefixed) path.remove_prefix(kPrefix.size());
  const std::string_view first = path.substr(0, path.find_first_of(".[="));
  if (path.starts_with("gpu.")) return fmt::format("node.devices[gpu]{}", path.substr(first.size()));
  for (const std::string_view of_node : {"devices", "links", "gpudirect", "p2p"})
    if (first == of_node) return fmt::format("node.{}", path);
  for (const std::string_view own : {"name", "node", "nodes", "more_nodes", "seed", "fabric", "routing", "protocol",
                                     "price", "faults", "hall", "packet"})
    if (first == own) return std::string(path);
  return prefixed ? std::optional(std::string(path)) : std::nullopt;
}

std::string too_few(std::uint64_t asked, const char* what, const std::string& machine, std::uint64_t has) {
  return fmt::format("{} {} asked for, {} has {}", asked, what, machine, has);
}

Result<YamlDocument> cluster_document(std::string_view name, const Overrides& overrides, Reading& reading) {
  if (name.empty()) return invalid("no cluster named; write a file, a preset such as dgx-h100, or dgx-h100:64");
  if (name.front() == '{') return cluster_document(YamlDocument::parse(std::string(name), "{...}"), overrides, reading);
  if (is_file(name)) return cluster_document(YamlDocument::load(std::string(name)), overrides, reading);
  if (overrides.nodes == 0 || name.find(':') != std::string_view::npos)
    return cluster_document(preset(name, reading), overrides, reading);
  Overrides others = overrides;  // a preset without a size has as many nodes as asked for
  others.nodes = 0;
  return cluster_document(preset(fmt::format("{}:{}", name, overrides.nodes), reading), others, reading);
}

Result<YamlDocument> cluster_document(Result<YamlDocument> document, const Overrides& overrides, Reading& reading) {
  if (!document.ok()) return document;
  reading.text += document->text();
  for (const std::string& set : overrides.set) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos)
      return invalid(fmt::format("'{}' has no '='; write PATH=VALUE", set), {"", 0, 0, "--set"});
    const std::string typed = set.substr(0, equals), path = cluster_key(typed).value_or(typed);
    BUSBAR_RETURN_IF_ERROR(prepare(*document, path, reading));
    BUSBAR_RETURN_IF_ERROR(document->set(path, std::string_view(set).substr(equals + 1)));
    reading.text += "--set " + set + "\n";
  }
  if (overrides.nodes > 0) BUSBAR_RETURN_IF_ERROR(keep_nodes(overrides.nodes, *document, reading));
  return document;
}

}  // namespace busbar::spec
