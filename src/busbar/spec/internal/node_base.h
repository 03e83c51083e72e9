// Boards described by other boards: `base:` and parameters.
//
//   rtx4090-pcie.yaml:  {base: pcie-cards, gpu: rtx4090, link: pcie4}
//   pcie-cards.yaml:    {parameters: {gpus: 4, gpu: none, link: pcie5}, devices: [{name: gpu, count: $gpus, ...}], ...}
//
// A parameter is a word or a number. `$name` in the base's file is replaced by the value before the file is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/spec/reading.h"

namespace busbar::spec {

/// The keys of a node file other than parameters: devices, links, defaults and provenance.
bool is_node_key(std::string_view key);

struct NodeParameter {
  std::string name, value;
};
/// The parameters of a node in the order of its file, with the values that it gives them. `value`: as in resolve_node.
Result<std::vector<NodeParameter>> node_parameters(const YamlNode& value, Reading& reading);

/// A node as a complete map: `value` is a name in catalog/nodes, a map with `base:`, or a complete map. Keys next to
/// `base` set its parameters or replace its keys. Bases may have bases, at most 8 deep.
Result<YamlNode> resolve_node(const YamlNode& value, Reading& reading);

}  // namespace busbar::spec
