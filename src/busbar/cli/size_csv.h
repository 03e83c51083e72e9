// Distributions of flow sizes as files: bytes,percent (docs/formats/flows.md).
#pragma once

#include <string>

#include "busbar/base/result.h"
#include "busbar/packet/background.h"

namespace busbar {

/// Two columns under the header `bytes,percent`, both ascending, percent from 0 to 100. Errors: kIo; kInvalid with file
/// and line.
Result<SizeDistribution> read_size_csv(const std::string& file);

}  // namespace busbar
