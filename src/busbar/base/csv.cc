#include "busbar/base/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "busbar/base/input.h"
#include "busbar/base/text.h"

namespace busbar {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Removes blanks from the end of an unquoted cell.
void trim_end(std::string& cell) {
  while (!cell.empty() && is_blank(cell.back())) cell.pop_back();
}

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string name) : rest_(text), name_(std::move(name)) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // byte order mark
}

Result<bool> CsvReader::next(std::vector<std::string>& cells) {
  while (skips_line()) {
  }
  if (rest_.empty()) return false;
  begin_ = next_;
  BUSBAR_RETURN_IF_ERROR(take_record(cells));
  return true;
}

/// Skips a line that is no record.
bool CsvReader::skips_line() {
  std::size_t at = 0;
  while (at < rest_.size() && is_blank(rest_[at])) ++at;
  if (rest_.empty() || (at < rest_.size() && rest_[at] != '\n' && rest_[at] != '#')) return false;
  rest_.remove_prefix(std::min(rest_.size(), std::min(rest_.find('\n', at), rest_.size()) + 1));
  ++next_;
  return true;
}

Status CsvReader::take_record(std::vector<std::string>& cells) {
  std::size_t used = 0, i = 0;
  const auto begin_cell = [&] {
    if (used == cells.size()) cells.emplace_back();
    cells[used++].clear();
  };
  begin_cell();
  bool inside = false, quoted = false;  // a quoted cell; it or an earlier part of it
  for (; i < rest_.size(); ++i) {
    const char c = rest_[i];
    std::string& cell = cells[used - 1];
    if (inside) {
      next_ += c == '\n';
      const bool doubled = c == '"' && i + 1 < rest_.size() && rest_[i + 1] == '"';
      if (c != '"' || doubled) cell += c;
      inside = c != '"' || doubled;
      i += doubled;
    } else if (c == '\n') {
      break;
    } else if (c == ',') {
      if (!quoted) trim_end(cell);
      begin_cell();
      quoted = false;
    } else if (c == '"' && cell.empty() && !quoted) {
      inside = quoted = true;
    } else if (!is_blank(c) || (!cell.empty() && !quoted)) {
      cell += c;
    }
  }
  if (inside) return invalid("a quoted cell does not end; close it with \"", where());
  if (!quoted) trim_end(cells[used - 1]);
  cells.resize(used);
  ++next_;
  rest_.remove_prefix(std::min(rest_.size(), i + 1));
  return {};
}

Result<CsvTable> CsvTable::parse(std::string_view text, const std::string& name) {
  CsvTable out;
  out.file_ = name;
  CsvReader reader(text, name);
  BUSBAR_ASSIGN(const bool headed, reader.next(out.columns_));
  if (!headed) return invalid("the file is empty; the first line names the columns", {name, 0, 0, ""});
  for (auto c = out.columns_.begin(); c != out.columns_.end(); ++c) {
    if (c->empty())
      return invalid(
          fmt::format("column {} has no name; the first line names the columns", c - out.columns_.begin() + 1),
          reader.where());
    if (std::find(out.columns_.begin(), c, *c) != c)
      return invalid(fmt::format("the column '{}' occurs twice", *c), reader.where());
  }
  for (std::vector<std::string> cells;;) {
    BUSBAR_ASSIGN(const bool more, reader.next(cells));
    if (!more) return out;
    if (cells.size() != out.columns_.size())
      return invalid(fmt::format("{} cells, the header has {}; put quotes around a cell with a comma", cells.size(),
                                 out.columns_.size()),
                     reader.where());
    std::move(cells.begin(), cells.end(), std::back_inserter(out.cells_));
    out.lines_.push_back(reader.line());
  }
}

Result<CsvTable> CsvTable::load(const std::string& file) {
  BUSBAR_ASSIGN(const std::string text, read_text(file, kMostCsv));
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
  if (!is_number(text, value) || !std::isfinite(value))
    return invalid(fmt::format("'{}' is not a number", text), where(row, name));
  return std::optional<double>(value);
}

Where CsvTable::where(std::size_t row, std::string_view column) const {
  return {file_, lines_[row], 0, std::string(column)};
}

}  // namespace busbar
