// A step and its variants in columns.
#pragma once

#include <vector>

#include "busbar/base/json.h"
#include "busbar/report/document.h"
#include "busbar/step/train_run.h"
#include "busbar/step/train_variants.h"

namespace busbar {

struct CommonOptions;

/// A variant after its run; `run.program` etc. are of its own machine and layout.
struct BesideRun {
  TrainVariant variant;
  TrainRun run;
};
/// Without timeline and relief.
Result<BesideRun> run_beside(TrainVariant variant, TrainAsk ask);

/// One column each, beginning with the scenario itself; parts that are zero in all columns are omitted.
/// "dgx-b200:64 takes 36 % less time than as asked: 6.13 instead of 9.63 s. ..."
Highlight beside_verdict(const TrainRun& asked, const std::vector<BesideRun>& besides);
Table beside_table(const TrainRun& asked, const std::vector<BesideRun>& besides);
/// Per variant {change, folded, and the keys of train_json()}.
Json beside_json(const std::vector<BesideRun>& besides, const CommonOptions& common);

}  // namespace busbar
