// A predicted step as JSON and as a document.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/published_runs.h"
#include "busbar/cli/train_beside.h"
#include "busbar/cli/train_levers.h"
#include "busbar/plan/fit_changes.h"
#include "busbar/report/document.h"
#include "busbar/step/train_run.h"

namespace busbar {

struct CommonOptions;

struct ScaleRun;

/// The keys of DESIGN's contract and a few more; everything except `run`.
Json train_json(const TrainRun& run, const CommonOptions& common);
/// What a report shows in addition to the step itself; all of it may be missing.
struct TrainExtras {
  const ScaleRun* sizes = nullptr;  ///< the scenario on other sizes of the machine
  std::vector<BesideRun> besides;   ///< variants in columns
  std::vector<Lever> levers;
  std::vector<FitChange> fits;     ///< of a step that does not fit
  std::vector<PublishedRun> like;  ///< the most similar published runs
};
Document train_document(const TrainRun& run, const std::string& typed, const TrainExtras& extras);

/// Which batch was chosen, and why, unless it was given.
void add_batch_words(const LayoutSpec& layout, Document& document);
/// All keys of a resolved layout.
Json layout_json(const LayoutSpec& layout);
/// The parts that are not zero, in seconds.
Bar breakdown_bar(std::string name, const Breakdown& b);
/// The colours of memory_parts(), in their order.
std::span<const int> memory_colours();

}  // namespace busbar
