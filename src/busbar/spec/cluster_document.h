// From the name on the command line to one YAML tree with --set applied. Part of cluster.h's work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "busbar/spec/cluster.h"
#include "busbar/spec/reading.h"

namespace busbar {

/// The path of --set in a cluster file: without "cluster.", and with "node." before what only a node has. Empty where
/// it has no such prefix and does not begin with a key of a cluster or a node.
std::optional<std::string> cluster_key(std::string_view path);

inline constexpr std::int64_t kMaxNodes = 1'000'000;

/// The file, or the few lines that a preset stands for ("node: dgx-h100", "nodes: 64"), with --set applied. A name on
/// the way of a --set path ("fabric" of "fabric.link.rate") is first replaced by the catalogue file it names; a part
/// that the cluster leaves to its node is first copied from there.
Result<YamlDocument> cluster_document(std::string_view name, const Overrides& overrides, Reading& reading);
/// The same for a document in hand.
Result<YamlDocument> cluster_document(Result<YamlDocument> document, const Overrides& overrides, Reading& reading);

}  // namespace busbar
