#include "busbar/spec/meant_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "busbar/base/quantity.h"

namespace busbar::spec {
namespace {

constexpr const char* kBegin = "'busbar new' writes a file to start from";

struct Meant {
  std::string_view key, instead;
};

constexpr Meant kOfCluster[] = {
    {"cluster", "the keys of a cluster stand at the top, without a key around them"},
    {"servers", "the number of servers is 'nodes'"},
    {"hosts", "the number of servers is 'nodes'"},
    {"num_nodes", "the number of servers is 'nodes'"},
    {"network", "the network is a key of the fabric: fabric: {kind: rail-optimised, network: infiniband-ndr}"},
    {"topology", "the cables between servers are 'fabric'"},
    {"gpus", "GPUs are devices of the 'node': node: dgx-h100, or node: {devices: [...], links: [...]}"},
    {"gpus_per_node", "GPUs are devices of the 'node': node: dgx-h100, or node: {devices: [...], links: [...]}"},
    {"nics", "NICs are devices of the 'node': node: {base: dgx-h100, nics: 4}"},
};

constexpr Meant kOfNode[] = {
    {"gpus", "GPUs are devices: devices: [{name: gpu, count: 8, part: h100-sxm}, ...], or 'base' names a board"},
    {"gpu", "GPUs are devices: devices: [{name: gpu, count: 8, part: h100-sxm}, ...], or 'base' names a board"},
    {"nics", "NICs are devices: devices: [{name: nic, count: 4}, ...], or 'base' names a board"},
    {"nvlink",
     "NVLinks are links: links: [{between: [\"gpu*\", \"nvswitch*\"], link: nvlink4}, ...], or 'base' names a board"},
};

/// Whether a key of the map may be `wanted`, written wrongly: then the reader of the map says so.
bool has_nearly(const YamlNode& map, const char* wanted, std::string_view not_this) {
  for (std::size_t i = 0; i < map.size(); ++i)
    if (map.key(i) != not_this && !nearest(map.key(i), {wanted}).empty()) return true;
  return false;
}

template <std::size_t N>
Status check_words(const YamlNode& map, const Meant (&words)[N]) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::string key = map.key(i);
    const auto* const found =
        std::find_if(std::begin(words), std::end(words), [&](const Meant& m) { return m.key == key; });
    if (found != std::end(words))
      return invalid(fmt::format("unknown key '{}': {}; {}", key, found->instead, kBegin), map.key_where(i));
  }
  return {};
}

}  // namespace

Status check_cluster_keys(const YamlNode& root) {
  if (root.kind() != YamlNode::Kind::kMap) return {};
  BUSBAR_RETURN_IF_ERROR(check_words(root, kOfCluster));
  if (root.find("node") || has_nearly(root, "node", "nodes")) return {};
  return root.error(fmt::format(
      "the key 'node' is missing: a board of 'busbar catalog nodes', or its devices and links; {}", kBegin));
}

Status check_node_keys(const YamlNode& node) {
  if (node.kind() != YamlNode::Kind::kMap || node.find("devices")) return {};
  BUSBAR_RETURN_IF_ERROR(check_words(node, kOfNode));
  if (has_nearly(node, "devices", {})) return {};
  return node.error(
      fmt::format("the key 'devices' is missing: a node lists its devices, or 'base' names a board; {}", kBegin));
}

}  // namespace busbar::spec
