#include "busbar/cli/http_head.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "busbar/base/text.h"

namespace busbar::cli {
namespace {

/// "%41+b" is "A b" in a query. Nothing if a '%' has no two hexadecimal digits.
std::optional<std::string> decoded(std::string_view text, bool query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += query && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned char byte = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (failed != std::errc() || digits.size() != 2 || end != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

bool same_name(std::string_view name, std::string_view lower) {
  return std::equal(name.begin(), name.end(), lower.begin(), lower.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool read_target(std::string_view target, HttpHead& head) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::optional<std::string> path = decoded(target.substr(0, mark), false);
  if (!path || !path->starts_with('/')) return false;
  head.path = *path;
  if (mark == target.size()) return true;
  for (const std::string_view pair : split_at(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::optional<std::string> name = decoded(pair.substr(0, equals), true);
    const std::optional<std::string> value = decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return false;
    head.query.emplace_back(*name, *value);
  }
  return true;
}

/// How often the headers came that may come once.
struct HeadCounts {
  int hosts = 0, origins = 0, lengths = 0;
};

bool read_header(std::string_view name, std::string_view value, HttpHead& head, HeadCounts& seen) {
  if (same_name(name, "host")) {
    head.host = value;
    return ++seen.hosts == 1;
  }
  if (same_name(name, "origin")) {
    head.origin = value;
    return ++seen.origins == 1;
  }
  if (same_name(name, "content-length")) {
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), head.content_length);
    return failed == std::errc() && end == value.data() + value.size() && ++seen.lengths == 1;
  }
  return !same_name(name, "transfer-encoding");
}

}  // namespace

std::optional<HttpHead> parse_http_head(std::string_view text) {
  HttpHead head;
  HeadCounts seen;
  std::size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = split_at(text.substr(0, end), ' ');
  if (words.size() != 3 || !words[2].starts_with("HTTP/1.") || !read_target(words[1], head)) return std::nullopt;
  head.method = words[0];
  for (std::size_t at = end + 2; at < text.size(); at = end + 2) {
    end = text.find("\r\n", at);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(at, end - at);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    if (!read_header(line.substr(0, colon), without_blanks(line.substr(colon + 1)), head, seen)) return std::nullopt;
  }
  return seen.hosts == 1 ? std::optional(std::move(head)) : std::nullopt;
}

}  // namespace busbar::cli
