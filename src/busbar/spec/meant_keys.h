// Keys that people write who have not seen the format, and what to write instead.
#pragma once

#include "busbar/base/result.h"
#include "busbar/base/yaml.h"

namespace busbar::spec {

/// An error at the first key of a cluster file, or of the node inside it, that is a word of another format for
/// something that this one has; an error that says where to begin if the node is missing or says nothing of its
/// devices.
Status check_cluster_keys(const YamlNode& root);
Status check_node_keys(const YamlNode& node);

}  // namespace busbar::spec
