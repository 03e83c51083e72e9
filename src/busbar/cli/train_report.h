// A predicted step as JSON and as a document.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/train_run.h"
#include "busbar/report/document.h"

namespace busbar {

struct CommonOptions;

struct ScaleRun;
struct BesideRun;

/// The keys of DESIGN's contract and a few more; everything except `run`.
Json train_json(const TrainRun& run, const CommonOptions& common);
/// `sizes`: the scenario on other sizes of the machine, for the page; nullptr: unknown. `besides`: variants in columns.
Document train_document(const TrainRun& run, const std::string& typed, const ScaleRun* sizes = nullptr,
                        const std::vector<BesideRun>& besides = {});

/// All keys of a resolved layout.
Json layout_json(const LayoutSpec& layout);
/// Name and time of each part of the breakdown, in the order of the contract.
std::vector<std::pair<std::string, Duration>> breakdown_rows(const Breakdown& b);
/// The parts that are not zero, in seconds.
Bar breakdown_bar(std::string name, const Breakdown& b);

}  // namespace busbar
