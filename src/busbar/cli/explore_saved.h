// A page that a command wrote, as a state of the page of `busbar explore`.
#pragma once

#include <string>

#include "busbar/base/result.h"

namespace busbar::cli {

/// "tab=step&node=dgx-h100&gpus=512&..." of the result that a page of train or collective carries. Errors: kInvalid
/// for a file without one, of another command, or of a machine or model that the catalogue lacks; those of reading.
Result<std::string> saved_state(const std::string& path);

}  // namespace busbar::cli
