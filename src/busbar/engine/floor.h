// What no schedule and no tuning can beat on this machine (DESIGN 4.6).
#pragma once

#include <string>

#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar {

struct Floor {
  Duration time;
  std::string cut;  ///< which cut it comes from: "ports of node0.gpu0", "cables of node3", "all ports together"
};

/// The largest bound over the stated cuts, at wire rates without fitted efficiency, S as in nccl-tests, plus the
/// latency of the farthest pair. Cuts: every GPU, every scale-up domain, every set of domains that share leaves; and,
/// where no switch can reduce, the total traffic of an all-reduce over all ports.
/// Precondition: the call's ranks are placed. Groups of the call are bounded one by one, as if each were alone.
/// Source: cut arguments as in Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009, section 3.
/// Cost: linear in ranks, links of their domains and fabric links.
Floor machine_floor(const Router& router, const Placement& placement, const CollectiveCall& call);

}  // namespace busbar
