// The root cause of a bound on a link that is slow only because of something else.
#pragma once

#include <string>
#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/lowering/chain_part.h"
#include "busbar/nccl/comm.h"

namespace busbar::predict {

/// "no NIC near: ...", if every path from a GPU of a server to a NIC crosses a CPU, so that the library uses only some
/// of the NICs. Empty if a NIC is near, if all NICs are used, or if the communicator has one node.
std::string far_nics(const nccl::NcclComm& comm);

/// Whether bytes or hops cost the most along a chain; the launch counts as a hop.
lowering::BoundKind kind_of_chain(const std::vector<lowering::ChainPart>& chain);

}  // namespace busbar::predict
