#include "busbar/accuracy/used_results.h"

#include <fmt/core.h>

#include "busbar/base/text.h"

namespace busbar::accuracy {
namespace {

/// "2026-11-24" at the beginning of `text`; empty: another text.
std::string_view leading_date(std::string_view text) {
  constexpr std::size_t kLength = 10;
  int year = 0, month = 0, day = 0;
  const bool date = text.size() >= kLength && text[4] == '-' && text[7] == '-' && is_number(text.substr(0, 4), year) &&
                    is_number(text.substr(5, 2), month) && is_number(text.substr(8, 2), day) && year >= 2000 &&
                    year < 2100 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
  return date ? text.substr(0, kLength) : std::string_view();
}

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

std::string_view first_date(std::string_view text) {
  for (std::size_t at = text.find("20"); at != text.npos; at = text.find("20", at + 1)) {
    const std::string_view date = leading_date(text.substr(at));
    const bool alone = (at == 0 || !is_decimal(text[at - 1])) && (at + 10 >= text.size() || !is_decimal(text[at + 10]));
    if (!date.empty() && alone) return date;
  }
  return {};
}

}  // namespace

std::string in_words(const MeasuredAt& at) {
  std::string out = at.file;
  if (at.first_line > 0 && at.first_line == at.last_line) out += fmt::format(", line {}", at.first_line);
  if (at.first_line < at.last_line) out += fmt::format(", lines {} to {}", at.first_line, at.last_line);
  return at.date.empty() ? out : out + ", measured on " + at.date;
}

std::string date_in(std::string_view text, std::string_view name) {
  const std::string_view stated = first_date(text);
  return std::string(stated.empty() ? first_date(name) : stated);
}

}  // namespace busbar::accuracy
