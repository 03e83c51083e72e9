// How much can flow from one half of a machine to the other.
#pragma once

#include <string>

#include "busbar/topology/topology.h"

namespace busbar {

struct Bisection {
  double GBps = 0;   ///< one direction, wire rate x health of what is cut, 1e9 bytes/s
  std::string kind;  ///< "exact", "symmetric" or "tiers": how the cut was found
  std::string cut;   ///< which halves, over which links: a sentence for people
};

/// exact      one block of up to 16 GPUs: the narrowest cut of all splits into equal halves
/// symmetric  the first half of the GPUs (or blocks) against the second: the narrowest cut between these two
/// tiers      the same halves on fabrics of more than 60,000 links: the narrowest of the cuts below NICs, leaves,
///            spines and cores, each switch on the side of most of its cables; never below the symmetric one
/// none       fewer than two GPUs
///
/// Inside one block scale-up links alone count when they join all of its GPUs, else all links of the block. An odd GPU
/// or block belongs to the second half. Other splits of a large machine may be narrower: fabrics that are wired alike
/// everywhere have none, a fabric with a thin spot may.
Bisection bisect(const Topology& topology);
/// The cut "tiers" of a machine of at least two blocks, whatever its size.
Bisection bisect_tiers(const Topology& topology);

}  // namespace busbar
