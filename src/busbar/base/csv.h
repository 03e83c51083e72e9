// Comma-separated tables with a header line (RFC 4180: quoted cells, doubled quotes, line breaks in quotes). Every cell
// knows its place. A byte order mark, empty lines, lines that begin with '#', and blanks around unquoted cells are
// ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"

namespace busbar {

/// The largest table that is read: 16 million rows of a matrix, with some margin.
inline constexpr std::uint64_t kMostCsv = std::uint64_t{512} << 20;

/// The records of a table one by one, the header first.
class CsvReader {
 public:
  /// `text` must outlive the reader; `name`: the file's name in messages.
  CsvReader(std::string_view text, std::string name);
  /// Reads the cells of the next record. False: there is none. Error: a quote that does not end.
  Result<bool> next(std::vector<std::string>& cells);
  int line() const { return begin_; }  ///< where the last record begins, 1-based
  Where where() const { return {name_, begin_, 0, ""}; }

 private:
  bool skips_line();
  Status take_record(std::vector<std::string>& cells);

  std::string_view rest_;
  std::string name_;
  int begin_ = 0, next_ = 1;  ///< lines
};

class CsvTable {
 public:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  static Result<CsvTable> load(const std::string& file);
  /// `name`: the file's name in messages. Refused, with line and remedy: no header, a column without a name or with a
  /// name used twice, a row with more or fewer cells than the header, a quote that does not end.
  static Result<CsvTable> parse(std::string_view text, const std::string& name);

  const std::string& file() const { return file_; }
  const std::vector<std::string>& columns() const { return columns_; }
  /// Index of a column; kAbsent if there is none with this name.
  std::size_t column(std::string_view name) const;
  std::size_t rows() const { return lines_.size(); }
  const std::string& cell(std::size_t row, std::size_t column) const { return cells_[row * columns_.size() + column]; }
  /// The cell under `name`; empty if there is no such column.
  const std::string& cell(std::size_t row, std::string_view name) const;
  /// A finite number; empty if the cell is empty or the column is absent. Error with its place if the cell is no
  /// number.
  Result<std::optional<double>> number(std::size_t row, std::string_view name) const;
  Where where(std::size_t row, std::string_view column) const;  ///< file:line: column

 private:
  std::string file_;
  std::vector<std::string> columns_;
  std::vector<std::string> cells_;  ///< row-major
  std::vector<int> lines_;          ///< per row: its line in the file
};

}  // namespace busbar
