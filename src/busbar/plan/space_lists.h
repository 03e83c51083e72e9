// The degrees and words that a search tries, as lists that a person types.
#pragma once

#include <string>

#include "busbar/plan/space.h"

namespace busbar::plan {

/// "1,2,4", "0..3"; empty: everything.
struct PlanLists {
  std::string tp, pp, vpp, dp, cp, ep, micro_batch, zero, recompute, schedule, order, gpus_per_domain;
};
/// Errors name the member.
Result<PlanSpace> read_space(const PlanLists& lists, workload::LayoutSpec base);

}  // namespace busbar::plan
