// The command line of one row of a request with lists.
#pragma once

#include <string>

#include "busbar/base/record.h"
#include "busbar/plan/lists_run.h"

namespace busbar::questions {

/// `typed` with one value instead of each list, and without flags of output; where nothing was typed, `busbar train`
/// and the fields of `request` that differ from their defaults.
std::string row_command(const std::string& typed, const Record& record, const void* request,
                        const plan::ListedLayout& row);

}  // namespace busbar::questions
