#include "busbar/cli/size_csv.h"

#include <fmt/core.h>

#include <charconv>
#include <fstream>
#include <string_view>

#include "busbar/formats/lines.h"

namespace busbar {
namespace {

bool read_number(std::string_view word, double& out) {
  word = trimmed(word);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

Result<SizeDistribution> read_size_csv(const std::string& file) {
  constexpr double kMostBytes = 1125899906842624.0;  // 2^50, as in flow lists
  std::ifstream in(file, std::ios::binary);
  if (!in) return Error{ErrorCode::kIo, "cannot be read; is the path right?", {file, 0, 0, ""}};
  SizeDistribution d;
  std::string text;
  bool headed = false;
  int line = 0;
  const auto wrong = [&](std::string why) { return Error{ErrorCode::kInvalid, std::move(why), {file, line, 0, ""}}; };
  while (std::getline(in, text)) {
    ++line;
    const std::string_view row = trimmed(text);
    if (row.empty() || row.front() == '#') continue;
    if (!headed) {
      if (row != "bytes,percent") return wrong("the first line names the columns: bytes,percent");
      headed = true;
      continue;
    }
    const std::size_t comma = row.find(',');
    SizeDistribution::Point p;
    if (comma == std::string_view::npos || !read_number(row.substr(0, comma), p.bytes) ||
        !read_number(row.substr(comma + 1), p.share))
      return wrong(fmt::format("'{}' is no pair of numbers; write bytes,percent", row));
    p.share /= 100;
    if (!(p.bytes >= 1 && p.bytes <= kMostBytes) || !(p.share >= 0 && p.share <= 1))
      return wrong("bytes lie between 1 and 2^50, percent between 0 and 100");
    if (!d.points.empty() && (p.bytes < d.points.back().bytes || p.share < d.points.back().share))
      return wrong("bytes and percent must not fall from line to line");
    d.points.push_back(p);
  }
  if (d.points.size() < 2 || d.points.front().share > 0 || d.points.back().share < 1)
    return wrong("the first line of numbers has 0 percent and the last one 100");
  return d;
}

}  // namespace busbar
