// Where the flows of `busbar flows` come from: a list in a file, or random sizes and starts at a given load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/cli/flow_csv.h"

namespace busbar {

struct FlowSource {
  std::string file;                  ///< a list; empty: random flows
  std::string sizes, until = "1ms";  ///< random flows: their sizes, and the time of the last start
  double load = 0;                   ///< of each host's cables, 0 to 1
  std::string out;                   ///< write the list to this file too; empty: nowhere
};
std::vector<Flag> flow_source_flags(FlowSource& source);

/// The flows, named by their ids or, if random, by numbers from 0 in order of their starts. Errors: of read_flow_csv(),
/// read_flow_sizes() and add_background(); kInvalid if there is neither a file nor sizes, or both.
Result<NamedFlows> read_flows(const FlowSource& source, const Router& router, std::uint64_t seed,
                              const std::string& catalog_directory);

}  // namespace busbar
