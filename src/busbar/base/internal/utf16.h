// UTF-16 as UTF-8. Private to base.
#pragma once

#include <istream>
#include <memory>

namespace busbar {

/// Pre: `text` begins with a byte order mark, which is dropped. Half a pair of surrogates, or half a unit at the end,
/// becomes U+FFFD. Source: RFC 2781.
std::unique_ptr<std::istream> utf8_of_utf16(std::unique_ptr<std::istream> text);

}  // namespace busbar
