// Machines that are ready, for the steps of a thread.
#pragma once

#include "busbar/step/kept_machines.h"

namespace busbar {

/// Those of this thread; null: none.
KeptMachines* lent_machines();

/// While one exists, the steps of its thread use `machines`.
class LentMachines {
 public:
  explicit LentMachines(KeptMachines& machines);
  ~LentMachines();
  LentMachines(const LentMachines&) = delete;
  LentMachines& operator=(const LentMachines&) = delete;
};

}  // namespace busbar
