#include "busbar/spec/internal/node_number.h"

#include <fmt/core.h>

#include <charconv>

namespace busbar::spec {
namespace {

/// Removes a whole number of at most 7 digits from the front of `text` and returns it; 0 if there is none.
std::int64_t take_number(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && digits < 8 && text[digits] >= '0' && text[digits] <= '9') ++digits;
  std::int64_t n = 0;
  if (digits > 0 && digits < 8) std::from_chars(text.data(), text.data() + digits, n);
  if (n > 0) text.remove_prefix(digits);
  return n;
}

}  // namespace

Result<std::int64_t> as_count(const YamlNode& node, std::int64_t low, std::int64_t high) {
  const std::string& word = node.scalar();
  if (node.kind() != YamlNode::Kind::kScalar || word.find_first_of("x/") == std::string::npos) {
    return node.as_int(low, high);
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const Error wrong = node.error(fmt::format("'{}' is not a count; write 8, 4x4x4 or 4x4x4/4", word));
  std::string_view rest = word;
  std::int64_t product = take_number(rest);
  while (product > 0 && !rest.empty() && rest[0] == 'x') {
    rest.remove_prefix(1);
    const std::int64_t factor = take_number(rest);
    product = factor > 0 && product <= kMost / factor ? product * factor : 0;
  }
  if (product > 0 && !rest.empty() && rest[0] == '/') {
    rest.remove_prefix(1);
    const std::int64_t divisor = take_number(rest);
    product = divisor > 0 ? (product + divisor - 1) / divisor : 0;
  }
  if (product <= 0 || !rest.empty()) return wrong;
  if (product < low || product > high) {
    return node.error(fmt::format("{} is out of range; it must be between {} and {}", product, low, high));
  }
  return product;
}

Result<std::vector<std::uint32_t>> as_shape(const YamlNode& node) {
  BUSBAR_ASSIGN(const std::string word, node.as_string());
  std::vector<std::uint32_t> out;
  std::string_view rest = word;
  while (out.size() < 4) {
    const std::int64_t n = take_number(rest);
    if (n == 0 || n > 65'536) break;
    out.push_back(static_cast<std::uint32_t>(n));
    if (rest.empty()) return out;
    if (rest[0] != 'x') break;
    rest.remove_prefix(1);
  }
  return node.error(fmt::format("'{}' is not a shape; write 16x16 or 4x4x4, at most 4 dimensions", word));
}

Result<NumberRule> take_rule(std::string_view& text, const YamlNode& at) {
  NumberRule rule;
  for (const char sign : {'*', '/'}) {
    if (text.size() < 2 || text[0] != sign || text[1] < '0' || text[1] > '9') continue;
    text.remove_prefix(1);
    const std::int64_t n = take_number(text);
    if (n == 0) return at.error(fmt::format("'#{}' needs a whole number above 0 and below 10000000", sign));
    (sign == '*' ? rule.times : rule.over) = static_cast<std::uint32_t>(n);
  }
  return rule;
}

}  // namespace busbar::spec
