// A machine with ranks on its GPUs, and what sends cost on it.
#pragma once

#include "busbar/base/shortcuts.h"
#include "busbar/base/stop_flag.h"
#include "busbar/lowering/capacity_table.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/placement.h"

namespace busbar {

/// All of it outlives what is made from it. Calls do not change it.
struct PlacedMachine {
  const Router& router;
  const Placement& placement;
  const ProtocolModel& protocol;
  const CapacityTable& table;
  const Shortcuts& shortcuts;
  StopFlag stop = nullptr;  ///< ends a call that is being lowered
  const Topology& topology() const { return router.topology(); }
};

}  // namespace busbar
