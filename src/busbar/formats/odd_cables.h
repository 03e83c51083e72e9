// Cables of an InfiniBand network that differ from their like: slower, or missing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/formats/import.h"

namespace busbar::formats {

struct OddCable {
  bool missing = false;     ///< otherwise slower
  std::string part;         ///< "leaf3-spine1", "node2.mlx5_5-leaf0"; a host that lacks NICs: "node2"
  std::string explanation;  ///< with the names of the file: "... runs at 2x NDR, cables like it at 4x NDR"
  int line = 0;             ///< of the cable, or of the switch that lacks one; 0: none
};

/// Slower: than at least six in ten cables between the same kinds of devices. Missing: two switches have fewer cables
/// than at least six in ten pairs of their levels, or a host has fewer NICs than six in ten of at least four hosts.
/// Order: slower ones by line, then missing ones by name. Empty if `source` is output of neither ibnetdiscover nor
/// iblinkinfo.
Result<std::optional<std::vector<OddCable>>> find_odd_cables(ImportSource& source);

}  // namespace busbar::formats
