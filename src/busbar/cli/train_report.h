// A predicted step as JSON and as a document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "busbar/cli/train_run.h"
#include "busbar/report/document.h"

namespace busbar {

struct ScaleRun;

/// The keys of DESIGN's contract and some more; everything but `run`.
nlohmann::ordered_json train_json(const TrainRun& run, const std::string& typed);
/// `sizes`: the same on other sizes of the machine, for the page; nullptr: not known.
Document train_document(const TrainRun& run, const std::string& typed, const ScaleRun* sizes = nullptr);

/// Name and seconds of the breakdown, in the order of the contract.
std::vector<std::pair<std::string, Duration>> breakdown_rows(const Breakdown& b);

}  // namespace busbar
