// A TOML file of a job as flags: key `tp` of table `[parallelism]` is "--parallelism.tp=8".
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/formats/launch_script.h"

namespace busbar::formats {

/// Whether the first line that says something is the head of a table.
bool is_toml(std::string_view text);

/// Tables of strings, numbers, words and lists of these. Errors, with their line: other lines, a list or a string that
/// does not end.
Result<ScriptCommand> read_toml_flags(std::string_view text, const std::string& name);

}  // namespace busbar::formats
