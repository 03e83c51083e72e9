#include "busbar/accuracy/results_file.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "busbar/accuracy/summary.h"
#include "busbar/base/csv.h"

namespace busbar {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < line.size();) {
    while (i < line.size() && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r')) ++i;
    const std::size_t begin = i;
    while (i < line.size() && line[i] != ' ' && line[i] != '\t' && line[i] != '\r') ++i;
    if (i > begin) out.push_back(line.substr(begin, i - begin));
  }
  return out;
}

std::optional<double> number(std::string_view word) {
  double n = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (code != std::errc() || end != word.data() + word.size() || !std::isfinite(n)) return std::nullopt;
  return n;
}

/// size, count, type, [redop], [root], then time, algbw, busbw, #wrong, once or twice. Source: NVIDIA nccl-tests,
/// src/common.cu; the times of both places count.
Status take_line(const std::vector<std::string_view>& words, Where where,
                 std::map<std::uint64_t, std::vector<double>>& times) {
  const auto size = number(words[0]);
  if (!size || *size < 1 || words.size() < 5) return {};  // sizes of 0 and lines of other programs
  std::size_t at = 3;
  while (at < words.size() && !number(words[at])) ++at;                                             // redop
  if (at < words.size() && words[at].find('.') == std::string_view::npos && at + 3 < words.size())  // root
    if (const auto root = number(words[at]); root && words.size() - at >= 4 && (*root == -1 || words.size() - at != 4))
      ++at;
  for (; at + 2 < words.size(); at += 4) {
    const auto us = number(words[at]);
    if (!us || *us <= 0) return invalid(fmt::format("'{}' is no time in us", words[at]), where);
    times[static_cast<std::uint64_t>(*size)].push_back(*us);
  }
  return {};
}

Result<MeasuredResults> from_times(std::map<std::uint64_t, std::vector<double>> times, std::string collective,
                                   const std::string& name) {
  MeasuredResults out{std::move(collective), {}};
  for (auto& [size, list] : times) out.rows.push_back({size, median_of(std::move(list))});
  if (out.rows.empty())
    return invalid(
        "there are no results in it; give the output of nccl-tests, or a CSV with the columns size_bytes and "
        "time_us",
        {name, 0, 0, ""});
  return out;
}

Result<MeasuredResults> parse_csv(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const CsvTable table, CsvTable::parse(text, name));
  if (table.column("size_bytes") == CsvTable::kAbsent || table.column("time_us") == CsvTable::kAbsent)
    return invalid("the columns size_bytes and time_us are needed", {name, 1, 0, ""});
  std::map<std::uint64_t, std::vector<double>> times;
  std::string collective;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    BUSBAR_ASSIGN(const auto size, table.number(row, "size_bytes"));
    BUSBAR_ASSIGN(const auto us, table.number(row, "time_us"));
    if (!size || *size < 1) continue;
    if (!us || *us <= 0) return invalid("there is no time above 0 in this row", table.where(row, "time_us"));
    const std::string& op = table.cell(row, "collective");
    if (!collective.empty() && !op.empty() && op != collective)
      return invalid(fmt::format("the file holds {} and {}; one collective at a time", collective, op),
                     table.where(row, "collective"));
    if (!op.empty()) collective = op;
    times[static_cast<std::uint64_t>(*size)].push_back(*us);
  }
  return from_times(std::move(times), collective, name);
}

}  // namespace

Result<MeasuredResults> parse_results(std::string_view text, const std::string& name) {
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first.find("size_bytes") != std::string_view::npos) return parse_csv(text, name);
  std::map<std::uint64_t, std::vector<double>> times;
  std::string collective;
  int line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = words_of(text.substr(at, end - at));
    at = end + 1;
    ++line;
    for (const std::string_view w : words)
      if (w.ends_with("_perf") && collective.empty()) collective = w.substr(w.rfind('/') + 1);
    if (words.empty() || words[0].starts_with("#")) continue;
    BUSBAR_RETURN_IF_ERROR(take_line(words, {name, line, 0, ""}, times));
  }
  return from_times(std::move(times), collective, name);
}

Result<MeasuredResults> read_results(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Error{ErrorCode::kIo, "cannot be read; is the path right?", {file, 0, 0, ""}};
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_results(text, file);
}

}  // namespace busbar
