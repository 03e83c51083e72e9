// `packet:` in a cluster or scenario file. Only the packet engine knows what its keys mean (cli/packet_options.h).
#pragma once

#include <string>
#include <vector>

#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"

namespace busbar::spec {

/// "mtu", "9000B", and the place of the value.
struct PacketLine {
  std::string key, text;
  Where where;
};

/// The lines of `node`: a map of KEY: VALUE; a name of catalog/packets, or a file relative to that of `node`, which
/// hold such a map under `settings`; or `none`. Keys of maps inside the map are joined by points. `read`: receives the
/// text of every file that a name led to.
Result<std::vector<PacketLine>> read_packet_lines(const YamlNode& node, const Catalog& catalog, std::string& read);

/// Errors: kUnsupported, at the first line, if there is one. For all that times without packets.
Status refuse_packet_lines(const std::vector<PacketLine>& lines);

}  // namespace busbar::spec
