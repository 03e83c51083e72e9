// The identity of a part for programs that choose by generation: compute capability, architecture, processor model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/spec/reading.h"
#include "busbar/topology/topology.h"

namespace busbar::spec {

/// `identity:` of a file in catalog/gpus: compute_capability (9.0), architecture ("gfx942"), pci_ids.
Status read_gpu_identity(const YamlNode& map, topology::DeviceClass& out);

/// One file of catalog/processors.
struct ProcessorFile {
  std::vector<std::string> words;  ///< words in the names of its products
  topology::ProcessorIdentity identity;
  std::optional<YamlNode> socket;  ///< {link, lanes}: the link between two sockets
};
Result<ProcessorFile> read_processor(const YamlNode& map);

/// The identity of the processor with its words in `part`, ignoring case; if several match, the first file by name.
/// Empty if no file matches.
Result<topology::ProcessorIdentity> find_processor(std::string_view part, Reading& reading);

}  // namespace busbar::spec
