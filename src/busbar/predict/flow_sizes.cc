#include "busbar/predict/flow_sizes.h"

#include <optional>
#include <vector>

#include "busbar/base/csv.h"
#include "busbar/base/quantity.h"
#include "busbar/spec/reading.h"

namespace busbar::predict {
namespace {

Status add_point(double bytes, double percent, const Where& where, packet::SizeDistribution& d) {
  constexpr double kMostBytes = 1125899906842624.0;  // 2^50, as in flow lists
  const packet::SizeDistribution::Point p{bytes, percent / 100};
  if (!(bytes >= 1 && bytes <= kMostBytes && percent >= 0 && percent <= 100))
    return invalid("bytes must be between 1 and 2^50, percent between 0 and 100", where);
  if (!d.points.empty() && (p.bytes < d.points.back().bytes || p.share < d.points.back().share))
    return invalid("bytes and percent must not decrease from line to line", where);
  d.points.push_back(p);
  return {};
}

Status read_csv(const std::string& file, packet::SizeDistribution& d) {
  BUSBAR_ASSIGN(const CsvTable table, CsvTable::load(file));
  if (table.columns() != std::vector<std::string>{"bytes", "percent"})
    return invalid("the first line names the columns: bytes,percent", {file, 0, 0, ""});
  for (std::size_t row = 0; row < table.rows(); ++row) {
    BUSBAR_ASSIGN(const std::optional<double> bytes, table.number(row, "bytes"));
    BUSBAR_ASSIGN(const std::optional<double> percent, table.number(row, "percent"));
    BUSBAR_RETURN_IF_ERROR(add_point(bytes.value_or(-1), percent.value_or(-1), table.where(row, ""), d));
  }
  return {};
}

Status read_entry(const std::string& name, const std::string& catalog_directory, packet::SizeDistribution& d) {
  BUSBAR_ASSIGN(const YamlDocument document, spec::Catalog(catalog_directory).load("flow-sizes", name));
  MapReader r = spec::sourced(document.root());
  std::string words;
  r.optional("name", &YamlNode::as_string, words);
  const YamlNode percent = r.required("percent");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  for (std::size_t i = 0; i < percent.size(); ++i) {
    const Result<Bytes> bytes = parse_size(percent.key(i));
    if (!bytes.ok()) return invalid(bytes.error().message, percent.key_where(i));
    BUSBAR_ASSIGN(const double share, percent.item(i).as_number(0, 100));
    BUSBAR_RETURN_IF_ERROR(add_point(static_cast<double>(count(*bytes)), share, percent.key_where(i), d));
  }
  return {};
}

}  // namespace

Result<packet::SizeDistribution> read_flow_sizes(const std::string& name, const std::string& catalog_directory) {
  packet::SizeDistribution d;
  BUSBAR_RETURN_IF_ERROR(name.ends_with(".csv") ? read_csv(name, d) : read_entry(name, catalog_directory, d));
  if (d.points.size() < 2 || d.points.front().share > 0 || d.points.back().share < 1)
    return invalid("the first row must have 0 percent and the last row 100", {name, 0, 0, ""});
  return d;
}

}  // namespace busbar::predict
