// What the steps of a command share: the signal that stops them, machines that are ready, and notices on stderr.
#pragma once

#include "busbar/step/train_run.h"

namespace busbar {

/// The step of a scenario, as a NamedTask; without a layout, if `open`, in one that plan_default() chooses.
Result<TrainRun> run_named_step(Scenario scenario, const TrainAsk& ask, bool open);

/// Sets the members of `ask` that depend on this thread's command: stop, kept, notice.
void join_command(TrainAsk& ask);

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
