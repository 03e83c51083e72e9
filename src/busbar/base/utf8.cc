#include "busbar/base/utf8.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar {
namespace {

bool is_forbidden_control(unsigned char c) { return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f; }

}  // namespace

Utf8Character character_at(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned b = byte(i);
  const std::size_t length = b < 0x80 ? 1 : b < 0xc2 ? 0 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf5 ? 4 : 0;
  unsigned low = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80;
  unsigned high = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
  std::uint32_t value = length < 2 ? b : b & (0xffu >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) {
    if (byte(i + k) < low || byte(i + k) > high) return {k, false, 0};
    value = value << 6 | (byte(i + k) & 0x3fu);
    low = 0x80;
    high = 0xbf;
  }
  return {std::max<std::size_t>(length, 1), length > 0, value};
}

std::optional<BadText> find_bad_text(std::string_view text) {
  int line = 1, column = 1;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const Utf8Character character = character_at(text, i);
    if (!character.whole) {
      return BadText{line, column, fmt::format("byte 0x{:02x} is not UTF-8; save the file as UTF-8 text", c)};
    }
    if (is_forbidden_control(c)) {
      return BadText{line, column, fmt::format("control character 0x{:02x}; is this a text file?", c)};
    }
    column = c == '\n' ? 1 : column + static_cast<int>(character.length);
    line += c == '\n';
    i += character.length;
  }
  return std::nullopt;
}

bool commands_terminal(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool turns_text =
      c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return control || turns_text;
}

}  // namespace busbar
