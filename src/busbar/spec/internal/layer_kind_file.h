// Kinds of layers in a model file.
#pragma once

#include <string>

#include "busbar/base/yaml.h"
#include "busbar/workload/layer_kind.h"

namespace busbar::spec {

/// "{mixer: attention, heads: 32, ...}": what read_layer_kind() reads.
std::string layer_kind_text(const workload::LayerKind& kind);
Result<workload::LayerKind> read_layer_kind(const YamlNode& node);

}  // namespace busbar::spec
