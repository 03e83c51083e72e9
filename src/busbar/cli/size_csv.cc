#include "busbar/cli/size_csv.h"

#include <optional>
#include <vector>

#include "busbar/base/csv.h"

namespace busbar {
Result<SizeDistribution> read_size_csv(const std::string& file) {
  constexpr double kMostBytes = 1125899906842624.0;  // 2^50, as in flow lists
  BUSBAR_ASSIGN(const CsvTable table, CsvTable::load(file));
  if (table.columns() != std::vector<std::string>{"bytes", "percent"})
    return invalid("the first line names the columns: bytes,percent", {file, 0, 0, ""});
  SizeDistribution d;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    BUSBAR_ASSIGN(const std::optional<double> bytes, table.number(row, "bytes"));
    BUSBAR_ASSIGN(const std::optional<double> percent, table.number(row, "percent"));
    const auto wrong = [&](const char* why) { return invalid(why, table.where(row, "")); };
    if (!bytes || !percent || *bytes < 1 || *bytes > kMostBytes || *percent < 0 || *percent > 100)
      return wrong("bytes must be between 1 and 2^50, percent between 0 and 100");
    const SizeDistribution::Point p{*bytes, *percent / 100};
    if (!d.points.empty() && (p.bytes < d.points.back().bytes || p.share < d.points.back().share))
      return wrong("bytes and percent must not decrease from line to line");
    d.points.push_back(p);
  }
  if (d.points.size() < 2 || d.points.front().share > 0 || d.points.back().share < 1)
    return invalid("the first row must have 0 percent and the last row 100", {file, 0, 0, ""});
  return d;
}

}  // namespace busbar
