// Distributions of flow sizes: entries of the catalogue, or files (docs/formats/flows.md).
#pragma once

#include <string>

#include "busbar/base/result.h"
#include "busbar/packet/background.h"

namespace busbar::predict {

/// `name`: an entry of catalog/flow-sizes, or a file NAME.csv with two columns under the header `bytes,percent`. Both
/// ascend, percent from 0 to 100. Errors: kIo; kNotFound; kInvalid with file and line.
Result<packet::SizeDistribution> read_flow_sizes(const std::string& name, const std::string& catalog_directory);

}  // namespace busbar::predict
