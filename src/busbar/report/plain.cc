#include "busbar/report/plain.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace busbar {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The code point at `text[i]` by RFC 3629: no overlong forms, no surrogates.
CodePoint decode(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  if (first < 0x80) return {first, 1};
  const std::size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || i + n > text.size()) return {};
  std::uint32_t value = first & (0xFFu >> (n + 1));
  for (std::size_t k = 1; k < n; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i + k) & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[n] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, n};
}

bool allowed_in_xml(std::uint32_t c) {
  return c == '\t' || c == '\n' || c == '\r' ||
         (c >= 0x20 && c != 0x7F && !(c >= 0x80 && c < 0xA0) && c != 0xFFFE && c != 0xFFFF);
}

std::string_view entity(std::uint32_t c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

std::string_view ascii_spelling(std::uint32_t c) {
  switch (c) {
    case 0x00A0:
      return " ";
    case 0x00B5:
    case 0x03BC:
      return "u";
    case 0x00D7:
      return "x";
    case 0x00B1:
      return "+-";
    case 0x00B7:
    case 0x2022:
      return "-";
    case 0x2013:
    case 0x2014:
    case 0x2212:
      return "-";
    case 0x2018:
    case 0x2019:
      return "'";
    case 0x201C:
    case 0x201D:
      return "\"";
    case 0x2026:
      return "...";
    case 0x2190:
      return "<-";
    case 0x2192:
      return "->";
    case 0x2194:
      return "<->";
    case 0x2248:
      return "~";
    case 0x2264:
      return "<=";
    case 0x2265:
      return ">=";
    default:
      return "?";
  }
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    if (c.bytes == 0 || !allowed_in_xml(c.value)) {
      out += kReplacement;
    } else if (const auto name = entity(c.value); !name.empty()) {
      out += name;
    } else {
      out += text.substr(i, c.bytes);
    }
    i += std::max<std::size_t>(1, c.bytes);
  }
  return out;
}

std::string escape_terminal(std::string_view text, bool utf8) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    if (c.value == '\t' || c.value == '\n' || c.value == '\r') {
      out += ' ';
    } else if (c.bytes == 0 || !allowed_in_xml(c.value)) {
      out += '?';
    } else if (c.bytes == 1 || utf8) {
      out += text.substr(i, c.bytes);
    } else {
      out += ascii_spelling(c.value);
    }
    i += std::max<std::size_t>(1, c.bytes);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

namespace {

/// The bytes of the first `cells` code points of `text`.
std::size_t bytes_of(std::string_view text, std::size_t cells) {
  std::size_t i = 0;
  while (i < text.size()) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80 && cells-- == 0) break;
    ++i;
  }
  return i;
}

}  // namespace

std::vector<std::string> wrap_words(std::string_view text, std::size_t width) {
  width = std::max<std::size_t>(1, width);
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    std::string_view word = text.substr(i, text.find(' ', i) - i);
    i += word.size();
    if (used > 0 && used + 1 + display_width(word) > width) {
      lines.emplace_back();
      used = 0;
    }
    for (; display_width(word) > width; word.remove_prefix(bytes_of(word, width))) {
      lines.back() = word.substr(0, bytes_of(word, width));
      lines.emplace_back();
    }
    if (used > 0) lines.back() += ' ';
    lines.back() += word;
    used = display_width(lines.back());
  }
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(text) + std::string(width > used ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(width > used ? width - used : 0, ' ') + std::string(text);
}

std::string repeat(std::string_view glyph, std::size_t n) {
  std::string out;
  out.reserve(glyph.size() * n);
  for (std::size_t i = 0; i < n; ++i) out += glyph;
  return out;
}

}  // namespace busbar
