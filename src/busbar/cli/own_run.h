// Runs another command of Busbar in a process of its own.
#pragma once

#include <string>

#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar {

/// What "busbar COMMAND --json" prints. Words are separated by spaces; text in single quotes is one word. The process
/// is this same program. Errors: the message of the command, or that it could not start. A clean "no" (exit 1) is a
/// result.
Result<Json> own_run(const std::string& command);

}  // namespace busbar
