// Whole numbers in $((...)) of a shell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace busbar::formats {

/// The value of "2*($N+1)", with + - * / % and parentheses. Nothing: another operation, a name that `value_of` does not
/// know, a division by 0, a number beyond 64 bits.
std::optional<std::int64_t> script_number(
    std::string_view text, const std::function<std::optional<std::int64_t>(const std::string&)>& value_of);

}  // namespace busbar::formats
