#include "busbar/report/plain.h"

#include <algorithm>
#include <cstdint>

#include "busbar/base/utf8.h"

namespace busbar::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

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
    const Utf8Character c = character_at(text, i);
    if (!c.whole || !allowed_in_xml(c.code_point)) {
      out += kReplacement;
    } else if (const auto name = entity(c.code_point); !name.empty()) {
      out += name;
    } else {
      out += text.substr(i, c.length);
    }
    i += c.length;
  }
  return out;
}

std::string escape_terminal(std::string_view text, bool utf8) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character c = character_at(text, i);
    if (c.code_point == '\t' || c.code_point == '\n' || c.code_point == '\r') {
      out += ' ';
    } else if (!c.whole || commands_terminal(c.code_point)) {
      out += '?';
    } else if (c.length == 1 || utf8) {
      out += text.substr(i, c.length);
    } else {
      out += ascii_spelling(c.code_point);
    }
    i += c.length;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

namespace {

/// The number of bytes of the first `cells` code points of `text`.
std::size_t bytes_of(std::string_view text, std::size_t cells) {
  std::size_t i = 0;
  while (i < text.size()) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80 && cells-- == 0) break;
    ++i;
  }
  return i;
}

}  // namespace

namespace {

/// The text up to the next space; a number keeps its percent sign if both fit a line.
std::string_view word_at(std::string_view text, std::size_t from, std::size_t width) {
  constexpr std::string_view kPercent = " %";
  const std::size_t end = std::min(text.find(' ', from), text.size());
  if (!text.substr(end).starts_with(kPercent)) return text.substr(from, end - from);
  const std::string_view both = text.substr(from, std::min(text.find(' ', end + kPercent.size()), text.size()) - from);
  return display_width(both) <= width ? both : text.substr(from, end - from);
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
    std::string_view word = word_at(text, i, width);
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

}  // namespace busbar::report
