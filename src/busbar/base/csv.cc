#include "busbar/base/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

namespace busbar {
namespace {

/// Takes one record off the front of `text`. False: a quote does not end.
bool take_record(std::string_view& text, int& line, std::vector<std::string>& cells) {
  cells.assign(1, "");
  bool quoted = false, at_start = true;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\n') ++line;
      if (c != '"') {
        cells.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cells.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
      continue;
    }
    if (c == '\n') break;
    if (c == ',') {
      cells.emplace_back();
      at_start = true;
      continue;
    }
    if (c == '"' && at_start) {
      quoted = true;
    } else if (c != '\r') {
      cells.back() += c;
    }
    at_start = false;
  }
  ++line;
  text.remove_prefix(std::min(text.size(), i + 1));
  return !quoted;
}

}  // namespace

Result<CsvTable> CsvTable::parse(std::string_view text, const std::string& name) {
  CsvTable out;
  out.file_ = name;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  std::vector<std::string> cells;
  int line = 1;
  while (!text.empty()) {
    const int at = line;
    if (!take_record(text, line, cells))
      return invalid("a quoted cell does not end; close it with \"", {name, at, 0, ""});
    if (cells.size() == 1 && cells[0].empty()) continue;  // an empty line
    if (out.columns_.empty()) {
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (cells[c].empty())
          return invalid(fmt::format("column {} has no name; the first line names the columns", c + 1),
                         {name, at, 0, ""});
        if (std::find(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(c), cells[c]) !=
            cells.begin() + static_cast<std::ptrdiff_t>(c))
          return invalid(fmt::format("the column '{}' is there twice", cells[c]), {name, at, 0, ""});
      }
      out.columns_ = cells;
      continue;
    }
    if (cells.size() != out.columns_.size())
      return invalid(fmt::format("{} cells, the header has {}; put quotes around a cell with a comma", cells.size(),
                                 out.columns_.size()),
                     {name, at, 0, ""});
    std::move(cells.begin(), cells.end(), std::back_inserter(out.cells_));
    out.lines_.push_back(at);
  }
  if (out.columns_.empty()) return invalid("the file is empty; the first line names the columns", {name, 0, 0, ""});
  return out;
}

Result<CsvTable> CsvTable::load(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Error{ErrorCode::kIo, "cannot be read; is the path right?", {file, 0, 0, ""}};
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return Error{ErrorCode::kIo, "reading failed", {file, 0, 0, ""}};
  return parse(text, file);
}

std::size_t CsvTable::column(std::string_view name) const {
  const auto it = std::find(columns_.begin(), columns_.end(), name);
  return it == columns_.end() ? kAbsent : static_cast<std::size_t>(it - columns_.begin());
}

const std::string& CsvTable::cell(std::size_t row, std::string_view name) const {
  static const std::string empty;
  const std::size_t c = column(name);
  return c == kAbsent ? empty : cell(row, c);
}

Result<std::optional<double>> CsvTable::number(std::size_t row, std::string_view name) const {
  const std::string& text = cell(row, name);
  if (text.empty()) return std::optional<double>();
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return invalid(fmt::format("'{}' is no number", text), where(row, name));
  return std::optional<double>(value);
}

Where CsvTable::where(std::size_t row, std::string_view column) const {
  return {file_, lines_[row], 0, std::string(column)};
}

}  // namespace busbar
