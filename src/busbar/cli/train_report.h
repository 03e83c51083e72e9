// A predicted step as JSON and as a document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "busbar/cli/train_run.h"
#include "busbar/report/document.h"

namespace busbar {

/// The keys of DESIGN's contract and some more; everything but `run`.
nlohmann::ordered_json train_json(const TrainRun& run, const std::string& typed);
Document train_document(const TrainRun& run, const std::string& typed);

/// Name and seconds of the breakdown, in the order of the contract.
std::vector<std::pair<std::string, Duration>> breakdown_rows(const Breakdown& b);

}  // namespace busbar
