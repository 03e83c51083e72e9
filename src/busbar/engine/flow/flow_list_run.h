// A list of point-to-point flows run to its end on max-min fair rates.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/shortcuts.h"
#include "busbar/base/stop_flag.h"
#include "busbar/program/flow_list.h"
#include "busbar/routing/router.h"

namespace busbar::engine {

/// fct = latency + transfer + sharing, to the picosecond.
struct FlowOutcome {
  SimTime start;
  Duration fct;                                        ///< from start to the last byte's arrival
  Duration latency;                                    ///< of the links on its path
  Duration transfer;                                   ///< its bytes at the rate of its narrowest link, alone
  Duration sharing;                                    ///< what the others cost it
  topology::LinkId held_by = kNone<topology::LinkId>;  ///< the link that set its rate at the end
  bool done = false;  ///< false only if the run was stopped: the times mean nothing then
};
struct LinkUse {
  topology::LinkId link{};
  double bytes = 0;
  std::uint32_t flows = 0;
};
struct FlowListResult {
  std::vector<FlowOutcome> flows;
  std::vector<LinkUse> links;  ///< what all flows together put on them, by LinkId; none without
  SimTime end;                 ///< of the last flow that has ended
  std::size_t done = 0;        ///< flows that have ended
  std::uint64_t events = 0, rate_changes = 0;
};

/// Flows share links max-min fairly, all with weight 1 on their busiest link; every start and end re-solves only the
/// flows whose rates it changes (online_max_min.h). Under adaptive routing it splits them again (adaptive_rates.h);
/// FlowOutcome::latency and transfer are then those of an equal split. Once `stop` is set, no further flow ends.
/// Errors: kUnreachable with the pair.
Result<FlowListResult> run_flow_list(const routing::Router& router, const program::FlowList& list,
                                     const Shortcuts& shortcuts = {}, StopFlag stop = nullptr);

}  // namespace busbar::engine
