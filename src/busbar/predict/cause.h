// What a person would change, where a bound names a link that is slow only because of something else.
#pragma once

#include <string>
#include <vector>

#include "busbar/engine/chain_part.h"
#include "busbar/engine/engine.h"
#include "busbar/nccl/comm.h"

namespace busbar {

/// "no NIC near: ...", where every way from a GPU of a server to a NIC passes a CPU and the library therefore takes
/// fewer of the NICs than there are. Empty where a NIC is near, all are taken, or the communicator has one node.
std::string far_nics(const NcclComm& comm);

/// Whether bytes or hops cost the most along a chain; the launch counts as one.
BoundKind kind_of_chain(const std::vector<ChainPart>& chain);

}  // namespace busbar
