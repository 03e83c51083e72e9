#include "busbar/formats/lines.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace busbar::formats {

LineSource LineSource::of_text(std::string_view text, std::string name) {
  LineSource s;
  s.name_ = std::move(name);
  s.rest_ = text;
  return s;
}

LineSource LineSource::of_stream(std::unique_ptr<std::istream> stream, std::string name) {
  LineSource s;
  s.name_ = std::move(name);
  s.stream_ = std::move(stream);
  s.buffer_.resize(2 * kLongestLine);
  s.rest_ = {s.buffer_.data(), 0};
  s.ended_ = false;
  return s;
}

bool LineSource::refill() {
  if (ended_) return false;
  std::memmove(buffer_.data(), rest_.data(), rest_.size());
  const std::size_t kept = rest_.size();
  stream_->read(buffer_.data() + kept, static_cast<std::streamsize>(buffer_.size() - kept));
  const auto got = static_cast<std::size_t>(stream_->gcount());
  ended_ = got == 0;
  rest_ = {buffer_.data(), kept + got};
  return got > 0;
}

bool LineSource::next_raw(std::string_view& line) {
  std::size_t searched = 0, end = std::string_view::npos;
  while (true) {
    end = rest_.substr(0, kLongestLine).find('\n', searched);
    if (end != std::string_view::npos || rest_.size() >= kLongestLine) break;
    searched = rest_.size();
    if (!refill()) break;
  }
  if (rest_.empty()) return false;
  const bool whole = end != std::string_view::npos;
  const std::size_t size = whole ? end : std::min(rest_.size(), kLongestLine);
  line = rest_.substr(0, size);
  rest_.remove_prefix(whole ? size + 1 : size);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (number_ < std::numeric_limits<int>::max()) ++number_;
  return true;
}

void LineSource::skip_prefixes() {
  constexpr std::size_t kSample = 64 << 10;
  skips_ = true;
  if (rest_.empty()) refill();
  labels_ = label_styles(rest_.substr(0, kSample));
}

/// The next line, or part of one, without its prefix.
bool LineSource::next_part(std::string_view& line) {
  if (!next_raw(line)) return false;
  if (std::memchr(line.data(), '\x1b', line.size()) != nullptr) {
    remove_terminal_commands(line, clean_);
    line = clean_;
  }
  whole_ = line;
  prefix_ = prefix_of(line, labels_);
  line.remove_prefix(prefix_.length);
  return true;
}

bool LineSource::next(std::string_view& line) {
  if (!skips_) return next_raw(line);
  while (next_part(line)) {
    std::string& before = parts_[prefix_.stream == "stderr" ? 1 : 0];
    if (before.empty() && !prefix_.partial) return true;
    const bool full = before.size() + line.size() > kLongestLine;
    before += line;
    if (prefix_.partial && !full) continue;
    joined_.swap(before);
    before.clear();
    line = joined_;
    return true;
  }
  for (std::string& left : parts_) {
    if (left.empty()) continue;
    joined_.swap(left);
    left.clear();
    line = whole_ = joined_;
    prefix_ = {};
    return true;
  }
  return false;
}

void LineCursor::blanks() {
  while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
}

bool LineCursor::accept(std::string_view literal) {
  if (!rest_.starts_with(literal)) return false;
  rest_.remove_prefix(literal.size());
  return true;
}

bool LineCursor::integer(std::int64_t& out) {
  const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
  if (code != std::errc()) return false;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return true;
}

bool LineCursor::number(double& out) {
  double value = 0;
  const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (code != std::errc() || !std::isfinite(value)) return false;
  out = value;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return true;
}

bool LineCursor::hexadecimal(std::uint64_t& out) {
  const std::size_t skip = rest_.starts_with("0x") || rest_.starts_with("0X") ? 2 : 0;
  const auto [end, code] = std::from_chars(rest_.data() + skip, rest_.data() + rest_.size(), out, 16);
  if (code != std::errc()) return false;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return true;
}

std::string_view LineCursor::until(std::string_view stop) {
  const std::string_view found = rest_.substr(0, rest_.find_first_of(stop));
  rest_.remove_prefix(found.size());
  return found;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace busbar::formats
