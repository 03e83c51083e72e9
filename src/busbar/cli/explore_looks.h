// What the page of `busbar explore` learns about a choice at once, before its step is computed.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "busbar/base/json.h"
#include "busbar/base/stop_flag.h"
#include "busbar/cli/explore_fields.h"
#include "busbar/plan/call_floors.h"
#include "busbar/step/train_run.h"

namespace busbar::cli {

/// Keeps the last machines. Safe for several threads, which take turns.
class ExploreLooks {
 public:
  explicit ExploreLooks(ExploreMachines& machines) : machines_(machines) {}

  /// {"values", "stops", "mended", "message", "bound_s", "memory_bytes", "capacity_bytes", "fits"}: the
  /// choice with what had to change so that it can run (a new machine or model: so that it fits, where anything does);
  /// legal values by field; what changed, in words; why; and a lower bound of the step's time, as a quick estimate,
  /// with its memory. `moved`: the field that the user changed last. Where the machine or the model is refused, only
  /// "message" and the choice.
  Json look(const ExploreChoice& choice, const std::string& moved, StopFlag stop);

 private:
  struct Opened {
    std::string key;
    step::TrainRun run;
    std::unique_ptr<plan::CallFloors> floors;
  };
  Result<Opened*> open(const ExploreScenario& asked, StopFlag stop);
  Status look_at(ExploreChoice& choice, const std::string& moved, StopFlag stop, std::string& why, Json& out);
  Status mend_size(ExploreChoice& choice, Json& out);

  ExploreMachines& machines_;
  std::mutex mutex_;          // guards the member below
  std::list<Opened> opened_;  ///< the last used first
};

}  // namespace busbar::cli
