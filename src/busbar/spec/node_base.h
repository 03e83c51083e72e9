// Boards described by other boards: `base:` and parameters.
//
//   rtx4090-pcie.yaml:  {base: pcie-cards, gpu: rtx4090, link: pcie4}
//   pcie-cards.yaml:    {parameters: {gpus: 4, gpu: none, link: pcie5}, devices: [{name: gpu, count: $gpus, ...}], ...}
//
// A parameter is a word or a number. `$name` in the base's file is replaced by its value before the file is read.
#pragma once

#include <string_view>

#include "busbar/spec/reading.h"

namespace busbar {

/// The keys of a node file that are not parameters: devices, links, defaults and provenance.
bool is_node_key(std::string_view key);

/// A node as a whole map: `value` is a name in catalog/nodes, a map with `base:`, or a map that stands for itself.
/// Keys beside `base` are values of its parameters or take the place of its keys. Bases may have bases, at most 8 deep.
Result<YamlNode> resolve_node(const YamlNode& value, Reading& reading);

}  // namespace busbar
