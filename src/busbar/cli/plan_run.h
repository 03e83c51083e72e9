// A search for a layout: what `busbar plan` asks, and all data of its report.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/request_line.h"
#include "busbar/cli/train_run.h"
#include "busbar/plan/search.h"

namespace busbar {

/// Lists as typed: "1,2,4", "0..3"; empty: everything.
struct PlanLists {
  std::string tp, pp, vpp, dp, cp, ep, micro_batch, zero, recompute, schedule;
};
/// Errors name the flag.
Result<PlanSpace> read_space(const PlanLists& lists, LayoutSpec base);

struct PlanRun {
  TrainRun machine;  ///< opened, without a layout
  StepRequest request;
  Plan plan;
  Bytes capacity{0};
  double seconds = 0;  ///< of the search
};

/// `within_s`: the search stops after so long with the best so far; 0: when it is complete.
/// Errors: kDoesNotFit, with the layout that needs least, when none fits; kInvalid when no layout divides the GPUs, the
/// model and the batch.
Result<PlanRun> run_plan(StepRequest request, Scenario scenario, const PlanLists& lists, const TrainAsk& ask,
                         double within_s);

/// Which part of the step made a layout slower than the best, in words.
std::string why_lost(const PlannedLayout& layout, const PlannedLayout& best);

}  // namespace busbar
