// From the name on the command line to one YAML tree with --set applied. Part of the work of cluster.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "busbar/spec/cluster.h"
#include "busbar/spec/reading.h"

namespace busbar::spec {

/// Maps a path of --set to a cluster file: without "cluster.", and with "node." before keys that only a node has. Empty
/// if it neither has such a prefix nor begins with a key of a cluster or a node.
std::optional<std::string> cluster_key(std::string_view path);

/// "80 GPUs asked for, dgx-h100:8 has 64".
std::string too_few(std::uint64_t asked, const char* what, const std::string& machine, std::uint64_t has);

inline constexpr std::int64_t kMaxNodes = 1'000'000;

/// The file, or for a preset its few lines ("node: dgx-h100", "nodes: 64"), with --set and --nodes applied. A name
/// along a --set path ("fabric" of "fabric.link.rate") is first replaced by the catalogue file of that name. A part
/// that the cluster inherits from its node is first copied from there.
Result<YamlDocument> cluster_document(std::string_view name, const Overrides& overrides, Reading& reading);
/// The same for a given document.
Result<YamlDocument> cluster_document(Result<YamlDocument> document, const Overrides& overrides, Reading& reading);

}  // namespace busbar::spec
