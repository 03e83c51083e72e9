#include "busbar/accuracy/validate.h"

#include <fmt/core.h>

#include <charconv>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar::accuracy {
namespace {

struct Condition {
  std::size_t column;
  enum Kind : std::uint8_t { kEqual, kUnequal, kAbove, kBelow } kind;
  std::string value;
  double number = 0;
};

Error flag_error(std::string message) { return invalid(std::move(message), {"", 0, 0, "--only"}); }

Result<Condition> parse_condition(const CsvTable& table, const std::string& text) {
  const std::size_t at = text.find_first_of("=!<>");
  if (at == std::string::npos || at == 0)
    return flag_error(
        fmt::format("'{}' is not a condition; write column=value, column!=value, column>1 or column<1", text));
  Condition c{table.column(text.substr(0, at)), Condition::kEqual, {}};
  std::size_t rest = at + 1;
  if (text[at] == '!') {
    if (rest >= text.size() || text[rest] != '=') return flag_error(fmt::format("'{}': write != for 'is not'", text));
    c.kind = Condition::kUnequal;
    ++rest;
  } else if (text[at] != '=') {
    c.kind = text[at] == '>' ? Condition::kAbove : Condition::kBelow;
  }
  c.value = text.substr(rest);
  if (c.column == CsvTable::kAbsent) {
    const std::string guess = nearest(text.substr(0, at), table.columns());
    return flag_error(fmt::format("{} has no column '{}'{}", table.file(), text.substr(0, at),
                                  guess.empty() ? "" : "; did you mean '" + guess + "'?"));
  }
  if (c.kind == Condition::kAbove || c.kind == Condition::kBelow) {
    if (!is_number(c.value, c.number)) return flag_error(fmt::format("'{}' is not a number", c.value));
  }
  return c;
}

bool holds(const CsvTable& table, std::size_t row, const Condition& c) {
  const std::string& cell = table.cell(row, c.column);
  if (c.kind == Condition::kEqual) return cell == c.value;
  if (c.kind == Condition::kUnequal) return cell != c.value;
  double n = 0;
  if (std::from_chars(cell.data(), cell.data() + cell.size(), n).ec != std::errc()) return false;
  return c.kind == Condition::kAbove ? n > c.number : n < c.number;
}

}  // namespace

Result<TableKind> kind_of_table(const CsvTable& table) {
  const auto has = [&](const char* name) { return table.column(name) != CsvTable::kAbsent; };
  if (has("collective") && has("size_bytes") && (has("time_us") || has("busbw_GBps"))) return TableKind::kCollectives;
  if (has("path_kind") && has("value")) return TableKind::kPointToPoint;
  if (has("step_time_s")) return TableKind::kTraining;
  if (has("peak_GiB")) return TableKind::kMemory;
  if (has("kernel") && has("time_us")) return TableKind::kKernels;
  return Error{
      ErrorCode::kUnsupported,
      "no table of measurements: collectives have the columns collective, size_bytes and time_us, copies "
      "path_kind and value, training steps step_time_s, memory of training steps peak_GiB, single kernels kernel "
      "and time_us",
      {table.file(), 1, 0, ""}};
}

Result<std::vector<std::size_t>> filter_rows(const CsvTable& table, const std::string& only) {
  std::vector<Condition> conditions;
  for (std::size_t at = 0; at < only.size();) {
    const std::size_t end = std::min(only.find(',', at), only.size());
    BUSBAR_ASSIGN(Condition c, parse_condition(table, only.substr(at, end - at)));
    conditions.push_back(std::move(c));
    at = end + 1;
  }
  std::vector<std::size_t> out;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    bool keep = true;
    for (const Condition& c : conditions) keep = keep && holds(table, r, c);
    if (keep) out.push_back(r);
  }
  return out;
}

Result<std::vector<ScoredRow>> validate(const CsvTable& table, const ValidateOptions& options) {
  BUSBAR_ASSIGN(const TableKind kind, kind_of_table(table));
  BUSBAR_ASSIGN(const std::vector<std::size_t> rows, filter_rows(table, options.only));
  if (rows.empty() && !options.only.empty())
    return flag_error(fmt::format("no row of {} matches '{}'", table.file(), options.only));
  switch (kind) {
    case TableKind::kCollectives:
      return validate_collectives(table, rows, options);
    case TableKind::kPointToPoint:
      return validate_point_to_point(table, rows, options);
    case TableKind::kTraining:
      return validate_training(table, rows, options);
    case TableKind::kMemory:
      return validate_memory(table, rows, options);
    case TableKind::kKernels:
      return validate_kernels(table, rows, options);
  }
  return Error{ErrorCode::kUnsupported, "tables of this kind cannot be predicted yet", {table.file(), 1, 0, ""}};
}

}  // namespace busbar::accuracy
