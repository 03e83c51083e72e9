// One step in every combination of the lists of a command line: "--tp 1,2,4 --zero 1..3".
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/flags.h"
#include "busbar/plan/search.h"
#include "busbar/plan/space_lists.h"
#include "busbar/report/document.h"
#include "busbar/step/train_run.h"

namespace busbar {

struct CommonOptions;

/// Lets the flags of degrees, micro-batch, ZeRO and recomputation also take a list.
void take_lists(PlanLists& lists, std::vector<Flag>& flags);
bool names_a_list(const PlanLists& lists);

struct ListedLayout {
  PlannedLayout planned;  ///< without a time if it does not fit
  std::string no_fit;     ///< why it does not fit; empty: it fits
  std::string command;    ///< for this row alone
};
/// Combinations that the GPUs, the model or the batch do not allow, for one reason.
struct RefusedLayouts {
  std::string why;
  std::uint64_t combinations = 0;
};
struct ListsRun {
  TrainRun machine;  ///< opened, without a layout
  Bytes capacity{0};
  std::vector<ListedLayout> layouts;  ///< those that fit, the fastest first; then the others, the smallest first
  std::vector<RefusedLayouts> refused;
  std::uint64_t combinations = 0;
  bool complete = true;  ///< false: interrupted
  int status = 0;        ///< exit status: 1 if nothing fits
};

/// Each combination as `busbar train` with its values resolves and times it. Values that have no list are those of the
/// scenario. `typed`: the command line, for the commands of rows.
/// Errors: kInvalid names the flag of a bad list; also when no combination divides.
Result<ListsRun> run_lists(Scenario scenario, const PlanLists& lists, const TrainAsk& ask, const std::string& typed);

Json lists_json(const ListsRun& run, const CommonOptions& common);
Document lists_document(const ListsRun& run, const std::string& typed);

}  // namespace busbar
