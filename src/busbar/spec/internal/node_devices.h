// The `devices:` and `links:` of a node file. Part of the work of node_file.h.
#pragma once

#include "busbar/spec/internal/node_file.h"

namespace busbar::spec {

/// Limit for both in one cluster; more is a typing error, not a machine (65,536 GPUs in DGX servers are 350,000).
inline constexpr std::size_t kMaxDevices = std::size_t{1} << 20;
inline constexpr std::size_t kMaxLinks = std::size_t{1} << 24;

/// Appends the devices of the list `devices` to `out`.
Status read_devices(const YamlNode& devices, Reading& reading, NodeFile& out);
/// Appends the links of the list `links`, whose patterns name devices of `out`.
Status read_links(const YamlNode& links, Reading& reading, NodeFile& out);

}  // namespace busbar::spec
