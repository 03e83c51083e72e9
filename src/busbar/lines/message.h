// What a command says on standard error.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar::lines {

/// A line for standard error: "busbar: " and `line`. Control characters and direction marks become '?'; words and
/// quoted text longer than 200 characters are shortened.
std::string message_line(std::string_view line);
/// Exit status of a command that ends with the error: 1 if something does not fit, otherwise 2.
int status_of(const Error& error);
}  // namespace busbar::lines
