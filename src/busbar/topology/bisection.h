// The rate between one half of a machine and the other.
#pragma once

#include <string>

#include "busbar/topology/topology.h"

namespace busbar::topology {

struct Bisection {
  double GBps = 0;   ///< one direction: wire rate x health of the links cut, 1e9 bytes/s
  std::string kind;  ///< "exact", "symmetric" or "tiers": how the cut was found
  std::string cut;   ///< the halves and the links between them: a sentence for people
};

/// exact      one block of up to 16 GPUs: the narrowest cut over all splits into equal halves
/// symmetric  the first half of the GPUs (or blocks) against the second: the narrowest cut between these two
/// tiers      the same halves on fabrics of more than 60,000 links: the narrowest of the cuts below NICs, leaves,
///            spines and cores, each switch on the side of most of its cables; never below the symmetric one
/// none       fewer than two GPUs
///
/// Inside one block only scale-up links count if they join all of its GPUs, otherwise all links of the block. An odd
/// GPU or block belongs to the second half. Other splits of a large machine may be narrower if its wiring is uneven. A
/// fabric that is wired alike everywhere has no narrower split.
Bisection bisect(const Topology& topology);
/// The cut "tiers" of a machine of two or more blocks, of any size.
Bisection bisect_tiers(const Topology& topology);

}  // namespace busbar::topology
