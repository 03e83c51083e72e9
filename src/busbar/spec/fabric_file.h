// A fabric as the user writes it: what kind, of which network, how wide.
#pragma once

#include <string>

#include "busbar/spec/reading.h"
#include "busbar/topology/fabric.h"

namespace busbar {

struct FabricFile {
  FabricSpec spec;
  std::string network;  ///< "InfiniBand NDR"; the kind of link where the file names no network
};

/// Reads a map, or the catalogue entry that a name stands for; "none" is the fabric without cables.
Result<FabricFile> read_fabric(const YamlNode& node, Reading& reading);

}  // namespace busbar
