// A machine with ranks on its GPUs, and what sends cost on it.
#pragma once

#include "busbar/base/shortcuts.h"
#include "busbar/base/stop_flag.h"
#include "busbar/lowering/capacity_table.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/placement.h"

namespace busbar::lowering {

/// All of it outlives what is made from it. Calls do not change it.
struct PlacedMachine {
  const routing::Router& router;
  const routing::Placement& placement;
  const program::ProtocolModel& protocol;
  const CapacityTable& table;
  const Shortcuts& shortcuts;
  StopFlag stop = nullptr;  ///< ends a call that is being lowered
  const topology::Topology& topology() const { return router.topology(); }
};

}  // namespace busbar::lowering
