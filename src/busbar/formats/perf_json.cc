#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/base/csv.h"
#include "busbar/base/text.h"
#include "busbar/formats/json_text.h"
#include "busbar/formats/perf_table.h"

namespace busbar::formats {
namespace {

/// Numbers of the report may be strings ("nan", " -1").
std::optional<double> number_of(const Json& map, const char* key) {
  const Json& found = map[key];
  if (found.is_number()) return found.number();
  double value = 0;
  LineCursor c(found.is_string() ? trimmed(found.text()) : std::string_view());
  return c.number(value) && c.at_end() ? std::optional(value) : std::nullopt;
}
std::string text_of(const Json& map, const char* key) { return map[key].is_string() ? map[key].text() : std::string(); }
std::uint64_t count_of(const Json& map, const char* key) {
  const double n = number_of(map, key).value_or(0);
  return n >= 0 && n < 1e18 ? static_cast<std::uint64_t>(n) : 0;
}
int small_of(const Json& map, const char* key, int otherwise) {
  const double n = number_of(map, key).value_or(otherwise);
  return n >= -1 && n < 1e9 ? static_cast<int>(n) : otherwise;
}

std::optional<PerfTiming> timing_of(const Json& row, const char* key) {
  const Json& t = row[key];
  const auto time = number_of(t, t.contains("time") ? "time" : "cpu_time");
  if (!time) return std::nullopt;
  return PerfTiming{*time, number_of(t, "alg_bw").value_or(0), number_of(t, "bus_bw").value_or(0),
                    number_of(t, "nwrong")};
}

/// NVIDIA's report: one object with "results".
void read_report(const Json& root, PerfResults& out) {
  add_unknown_keys(out.unknown, root, "report.",
                   {"version", "start_time", "end_time", "args", "env", "nccl_version", "config", "results", "devices",
                    "out_of_bounds", "average_bus_bandwidth", "average_bus_bw"});
  PerfTable t;
  if (const auto& args = root["args"].values(); !args.empty()) {
    std::string program = args[0].is_string() ? args[0].text() : "";
    program = program.substr(program.rfind('/') + 1);
    if (program.ends_with("_perf")) t.collective = program.substr(0, program.size() - 5);
  }
  if (const auto version = number_of(root, "nccl_version")) t.library = fmt::format("{:.0f}", *version);
  for (const Json& row : root["results"].values()) {
    if (!row.is_object()) continue;
    add_unknown_keys(out.unknown, row, "row.",
                     {"size", "count", "type", "redop", "root", "out_of_place", "in_place", "out_of_place_per_iter",
                      "in_place_per_iter", "actual_iterations", "experiment_name", "timestamp"});
    PerfRow r;
    r.size_bytes = count_of(row, "size");
    r.count = count_of(row, "count");
    r.type = text_of(row, "type");
    r.op = text_of(row, "redop");
    if (r.op == "none") r.op.clear();
    r.root = small_of(row, "root", -1);
    r.out_of_place = timing_of(row, "out_of_place");
    r.in_place = timing_of(row, "in_place");
    t.rows.push_back(std::move(r));
  }
  out.tables.push_back(std::move(t));
}

/// AMD's report: a list of rows, separate for in place and out of place.
void read_rows(const Json& root, PerfResults& out) {
  std::map<std::string, std::size_t> table_of;
  for (const Json& row : root.values()) {
    if (!row.is_object()) continue;
    add_unknown_keys(out.unknown, row, "row.",
                     {"numCycle", "name", "nodes", "ranks", "ranksPerNode", "gpusPerRank", "size", "type", "redop",
                      "inPlace", "time", "algBw", "busBw", "wrong", "count", "root", "gpus"});
    std::string name = text_of(row, "name");
    if (name.ends_with("_perf")) name.resize(name.size() - 5);
    name = lower(name);
    const auto [at, fresh] = table_of.try_emplace(name, out.tables.size());
    if (fresh) {
      out.tables.emplace_back().collective = name;
      const int gpus = small_of(row, "ranks", 0) * std::max(small_of(row, "gpusPerRank", 1), 1);
      out.tables.back().rank_count = gpus > 0 ? gpus : small_of(row, "gpus", 0);
    }
    std::vector<PerfRow>& rows = out.tables[at->second].rows;
    const auto time = number_of(row, "time");
    if (!time) continue;
    const PerfTiming t{*time, number_of(row, "algBw").value_or(0), number_of(row, "busBw").value_or(0),
                       number_of(row, "wrong")};
    const bool in_place = number_of(row, "inPlace").value_or(0) != 0;
    PerfRow r;
    r.size_bytes = count_of(row, "size");
    r.count = count_of(row, "count");
    r.type = text_of(row, "type");
    r.op = text_of(row, "redop");
    if (r.op == "none") r.op.clear();
    const bool pairs = !rows.empty() && rows.back().size_bytes == r.size_bytes && rows.back().type == r.type &&
                       rows.back().op == r.op && !(in_place ? rows.back().in_place : rows.back().out_of_place);
    if (!pairs) rows.push_back(std::move(r));
    (in_place ? rows.back().in_place : rows.back().out_of_place) = t;
  }
}

/// The names of the JSON report for columns in any case.
std::string json_name(const std::string& column) {
  static const std::map<std::string, std::string> kNames = {{"numcycle", "numCycle"},
                                                            {"rankspernode", "ranksPerNode"},
                                                            {"gpusperrank", "gpusPerRank"},
                                                            {"inplace", "inPlace"},
                                                            {"algbw", "algBw"},
                                                            {"busbw", "busBw"}};
  const std::string low = lower(column);
  const auto known = kNames.find(low);
  return known == kNames.end() ? low : known->second;
}

}  // namespace

bool looks_like_perf_csv(std::string_view head) {
  const std::string first = lower(head.substr(0, head.find_first_of("\r\n")));
  bool size = false, time = false, bandwidth = false;
  for (const std::string_view column : split_at(first, ',')) {
    size = size || trimmed(column) == "size";
    time = time || trimmed(column) == "time";
    bandwidth = bandwidth || trimmed(column) == "busbw";
  }
  return size && time && bandwidth;
}

bool looks_like_perf_json(std::string_view head) {
  return (head.starts_with("{") || head.starts_with("[")) &&
         ((head.find("\"nccl_version\"") != head.npos && head.find("\"args\"") != head.npos) ||
          (head.find("\"busBw\"") != head.npos && head.find("\"inPlace\"") != head.npos));
}

Result<PerfResults> read_perf_csv(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const CsvTable table, CsvTable::parse(text, name));
  Json rows = Json::array();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Json cells = Json::object();
    for (std::size_t c = 0; c < table.columns().size(); ++c)
      cells[json_name(table.columns()[c])] = Json(table.cell(row, c));
    rows.push_back(std::move(cells));
  }
  PerfResults out;
  read_rows(rows, out);
  return out;
}

Result<PerfResults> read_perf_json(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const Json root, parse_json(text, name));
  PerfResults out;
  if (root["results"].is_array())
    read_report(root, out);
  else if (root.is_array())
    read_rows(root, out);
  else
    return invalid("a report of nccl-tests has a list of results", {name, 1, 1, "results"});
  return out;
}

}  // namespace busbar::formats
