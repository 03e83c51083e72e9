// One step in every combination of the lists of a command line: "--tp 1,2,4 --zero 1..3".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/plan/search.h"
#include "busbar/plan/space_lists.h"
#include "busbar/step/train_run.h"

namespace busbar::plan {

bool names_a_list(const PlanLists& lists);

struct ListedLayout {
  PlannedLayout planned;  ///< without a time if it does not fit
  std::string no_fit;     ///< why it does not fit; empty: it fits
  /// Of each list its name and the value here: {"tp", "4"}.
  std::vector<std::pair<std::string, std::string>> values;
};
/// Combinations that the GPUs, the model or the batch do not allow, for one reason.
struct RefusedLayouts {
  std::string why;
  std::uint64_t combinations = 0;
};
struct ListsRun {
  step::TrainRun machine;  ///< opened, without a layout
  Bytes capacity{0};
  std::vector<ListedLayout> layouts;  ///< those that fit, the fastest first; then the others, the smallest first
  std::vector<RefusedLayouts> refused;
  std::uint64_t combinations = 0;
  bool complete = true;  ///< false: interrupted
  std::size_t fitting() const;
};

/// Each combination as `busbar train` with its values resolves and times it. Values that have no list are those of the
/// scenario.
/// Errors: kInvalid names the member of a bad list; also when no combination divides.
Result<ListsRun> run_lists(spec::Scenario scenario, const PlanLists& lists, const step::TrainAsk& ask,
                           const Context& context);

}  // namespace busbar::plan
