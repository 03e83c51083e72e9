#include "busbar/base/utf8.h"

#include <fmt/core.h>

#include <cstdint>

namespace busbar {
namespace {

/// Bytes of the well-formed character at `i`, 0 when there is none. Source: RFC 3629, section 4.
std::size_t character_length(std::string_view s, std::size_t i) {
  const auto byte = [&](std::size_t k) -> unsigned { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  const auto tail = [&](std::size_t k) { return byte(k) >= 0x80 && byte(k) <= 0xbf; };
  const unsigned b = byte(i), next = byte(i + 1);
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b <= 0xdf) return tail(i + 1) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) {
    const unsigned low = b == 0xe0 ? 0xa0 : 0x80, high = b == 0xed ? 0x9f : 0xbf;
    return next >= low && next <= high && tail(i + 2) ? 3 : 0;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    const unsigned low = b == 0xf0 ? 0x90 : 0x80, high = b == 0xf4 ? 0x8f : 0xbf;
    return next >= low && next <= high && tail(i + 2) && tail(i + 3) ? 4 : 0;
  }
  return 0;
}

bool is_forbidden_control(unsigned char c) { return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f; }

}  // namespace

std::optional<BadText> find_bad_text(std::string_view text) {
  int line = 1, column = 1;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = character_length(text, i);
    if (length == 0) {
      return BadText{line, column, fmt::format("byte 0x{:02x} is not UTF-8; save the file as UTF-8 text", c)};
    }
    if (is_forbidden_control(c)) {
      return BadText{line, column, fmt::format("control character 0x{:02x}; is this a text file?", c)};
    }
    column = c == '\n' ? 1 : column + static_cast<int>(length);
    line += c == '\n';
    i += length;
  }
  return std::nullopt;
}

}  // namespace busbar
