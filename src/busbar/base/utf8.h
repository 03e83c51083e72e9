// Is a text valid, and which characters may a terminal see?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace busbar {

struct Utf8Character {
  std::size_t length = 0;        ///< bytes, at least 1
  bool whole = false;            ///< false: the bytes are the longest valid prefix of a character, or no such prefix
  std::uint32_t code_point = 0;  ///< if `whole`
};
/// The character that begins at `i`. Pre: i < text.size(). Source: RFC 3629, section 4.
Utf8Character character_at(std::string_view text, std::size_t i);

struct BadText {
  int line = 0, column = 0;  ///< 1-based; columns count bytes
  std::string message;
};

/// The first byte that is not UTF-8 (RFC 3629: no surrogates, no overlong forms, up to U+10FFFF) or is a control
/// character other than tab, line feed and carriage return; empty if there is none.
std::optional<BadText> find_bad_text(std::string_view text);

/// Whether a terminal executes the character instead of showing it: control characters of ASCII and Latin-1 (escape
/// sequences begin with one), and marks that change the direction of text.
/// Source: ECMA-48, sections 5.2 and 5.3; Unicode Standard Annex 9, section 2.
bool commands_terminal(std::uint32_t code_point);

}  // namespace busbar
