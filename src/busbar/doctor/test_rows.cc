#include "busbar/doctor/internal/test_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "busbar/base/text.h"
#include "busbar/formats/lines.h"

namespace busbar::doctor {
namespace {

constexpr std::size_t kColumns = 8;         // time, algbw, busbw and errors of both runs end a row
constexpr std::uint64_t kLeast = 16 << 20;  // bytes; times of smaller sizes depend on latencies and protocols
constexpr double kDiffer = 1.5;             // between two runs of a size; those of sound tables differ by 3 % to 8 %
constexpr double kFaster = 0.7;             // of the time of half the size
constexpr double kCollapsed = 0.5;          // of the bandwidth of a smaller size

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (const std::string_view word : split_at(line, ' '))
    if (!formats::trimmed(word).empty()) out.push_back(formats::trimmed(word));
  return out;
}

/// Bytes, elements and a type begin a row, its columns end it.
bool is_row(const std::vector<std::string_view>& words) {
  double number = 0;
  if (words.size() < kColumns + 3 || words.size() > kColumns + 5) return false;
  return is_number(words[0], number) && is_number(words[1], number) && !is_number(words[2], number) &&
         is_number(words[words.size() - kColumns], number) && is_number(words[words.size() - kColumns + 1], number);
}

double number_of(std::string_view word) {
  double out = 0;
  return is_number(word, out) ? out : 0;  // in-place may be N/A
}

}  // namespace

std::string TestRows::odd(double out_us, double in_us) const {
  if (in_us > 0 && std::max(out_us, in_us) > kDiffer * std::min(out_us, in_us))
    return fmt::format(": one of its two runs takes {:.1f} times as long as the other",
                       std::max(out_us, in_us) / std::min(out_us, in_us));
  if (before_us_ > 0 && out_us < kFaster * before_us_)
    return fmt::format(": it takes {:.1f} times less than the size before", before_us_ / out_us);
  if (static_cast<double>(bytes_) / out_us < kCollapsed * best_bandwidth_)
    return fmt::format(": bandwidth falls to {:.0f} % of that of a smaller size",
                       100 * static_cast<double>(bytes_) / out_us / best_bandwidth_);
  return {};
}

std::string TestRows::said_by(std::string_view line) {
  const std::string_view text = formats::trimmed(line);
  if (text.empty() || text[std::min(text.find_first_not_of("0123456789"), text.size() - 1)] != ' ') return {};
  const std::vector<std::string_view> words = words_of(line);
  if (!is_row(words)) return {};
  const auto bytes = static_cast<std::uint64_t>(std::clamp(number_of(words[0]), 0.0, 1e18));
  const double out_us = number_of(words[words.size() - kColumns]);
  if (bytes <= bytes_) *this = {};  // another table
  bytes_ = bytes;
  std::string said = fmt::format("test row of {} bytes", bytes);
  if (bytes < kLeast || out_us <= 0) return said;
  said += odd(out_us, number_of(words[words.size() - kColumns / 2]));
  before_us_ = out_us;
  best_bandwidth_ = std::max(best_bandwidth_, static_cast<double>(bytes) / out_us);
  return said;
}

}  // namespace busbar::doctor
