#include "busbar/lines/message.h"

#include <algorithm>

#include "busbar/report/plain.h"

namespace busbar::lines {
namespace {

/// The end of the word, or of the text in single quotes, that begins at `at`.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  const std::size_t quote = text[at] == '\'' ? text.find('\'', at + 1) : std::string_view::npos;
  return std::min(quote == std::string_view::npos ? text.find(' ', at) : quote + 1, text.size());
}

/// Shortens words, and text in single quotes, that are longer than the limit.
std::string without_long_echoes(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ' || text[at] == '(') {
      out += text[at++];
      continue;
    }
    const std::size_t end = end_of_word(text, at);
    std::size_t shown = std::min(end, at + kMost);
    while (shown < end && (static_cast<unsigned char>(text[shown]) & 0xc0) == 0x80) --shown;  // whole characters
    out += text.substr(at, shown - at);
    if (shown < end) out += text[at] == '\'' ? "...'" : "...";
    at = end;
  }
  return out;
}

}  // namespace

std::string message_line(std::string_view line) {
  return "busbar: " + without_long_echoes(report::escape_terminal(line, true)) + "\n";
}

int status_of(const Error& error) { return error.code == ErrorCode::kDoesNotFit ? 1 : 2; }

}  // namespace busbar::lines
