// JSON of other programs, with the place of what is wrong in it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar {

using JsonTree = nlohmann::ordered_json;
inline constexpr int kMostJsonDepth = 256;

/// Error kInvalid with line and column; nesting deeper than 256 is refused.
Result<JsonTree> parse_json(std::string_view text, const std::string& name);

}  // namespace busbar
