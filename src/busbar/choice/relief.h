// What relieving one kind of link would buy.
#pragma once

#include <string>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar {

struct Relief {
  std::string what;         ///< "+10 % rate of infiniband ndr"
  double gain_percent = 0;  ///< of the call's time alone
};

/// Re-lowers `call` with one class of links changed at a time: rate +10 % and latency halved. Classes that the call's
/// busiest stage uses; all classes it uses when `every` is set. Largest gain first, ties by class.
Result<std::vector<Relief>> find_relief(const Router& router, const Placement& placement, const ProtocolModel& protocol,
                                        const CollectiveCall& call, bool every);

}  // namespace busbar
