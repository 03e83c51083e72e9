// UTF-16 as UTF-8. Private to base.
#pragma once

#include <istream>
#include <memory>
#include <string_view>

namespace busbar {

/// A byte order mark, or three letters of ASCII of two bytes each, which no text of another encoding begins with.
bool looks_like_utf16(std::string_view head);

/// Pre: looks_like_utf16(). A byte order mark is dropped. Half a pair of surrogates, or half a unit at the end,
/// becomes U+FFFD. Source: RFC 2781.
std::unique_ptr<std::istream> utf8_of_utf16(std::unique_ptr<std::istream> text);

}  // namespace busbar
