// Is this text at all?
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace busbar {

struct BadText {
  int line = 0, column = 0;  ///< 1-based; columns count bytes
  std::string message;
};

/// The first byte that is not UTF-8 (RFC 3629: no surrogates, no overlong forms, up to U+10FFFF) or is a control
/// character other than tab, line feed and carriage return; empty when there is none.
std::optional<BadText> find_bad_text(std::string_view text);

}  // namespace busbar
