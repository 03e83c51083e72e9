// Which ranks form which communicator: the file that ASTRA-sim takes with a workload (--comm-group-configuration),
// {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}. Source: astra-sim/astra-sim, inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/formats/comm_trace.h"

namespace busbar::formats {

struct CommGroup {
  std::string name;
  std::vector<std::uint32_t> members;  ///< global ranks, each once, in order of their rank in the group
};

bool looks_like_comm_groups(std::string_view head);

/// In the order of the file. Error if a group is empty, has a rank twice, or is no list of ranks.
Result<std::vector<CommGroup>> read_comm_groups(std::string_view text, const std::string& name);

/// Gives the collectives of a named group its ranks. Error for a name that `groups`, read from file `name`, lacks.
Status assign_groups(std::span<const CommGroup> groups, const std::string& name, CommTrace& trace);

}  // namespace busbar::formats
