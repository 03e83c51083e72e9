#include "busbar/accuracy/results_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "busbar/accuracy/summary.h"
#include "busbar/accuracy/table_verdict.h"
#include "busbar/base/csv.h"
#include "busbar/base/input.h"
#include "busbar/base/text.h"
#include "busbar/formats/import.h"
#include "busbar/formats/perf_table.h"

namespace busbar::accuracy {
namespace {

Result<MeasuredResults> from_times(std::map<std::uint64_t, std::vector<double>> times, MeasuredResults out,
                                   const std::string& name) {
  for (auto& [size, list] : times) out.rows.push_back({size, median_of(std::move(list))});
  if (out.rows.empty())
    return invalid(
        "there are no results in it; give the output or JSON report of nccl-tests, or a CSV with the columns "
        "size_bytes and time_us",
        {name, 0, 0, ""});
  return out;
}

Error several(const std::string& a, const std::string& b, Where where) {
  return invalid(fmt::format("the file holds {} and {}; one collective at a time", a, b), std::move(where));
}

/// One more line of a table.
void add_line(int line, MeasuredAt& at) {
  if (line <= 0) return;
  at.first_line = at.first_line == 0 ? line : std::min(at.first_line, line);
  at.last_line = std::max(at.last_line, line);
}

Result<CsvTable> csv_of(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(CsvTable table, CsvTable::parse(text, name));
  if (table.column("size_bytes") == CsvTable::kAbsent || table.column("time_us") == CsvTable::kAbsent)
    return invalid("the columns size_bytes and time_us are needed", {name, 1, 0, ""});
  return table;
}

std::vector<std::size_t> all_rows(const CsvTable& table) {
  std::vector<std::size_t> out(table.rows());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

Result<MeasuredResults> from_csv(const CsvTable& table, const std::vector<std::size_t>& rows) {
  std::map<std::uint64_t, std::vector<double>> times;
  std::string collective;
  std::uint32_t ranks = 0;
  MeasuredAt at;
  for (const std::size_t row : rows) {
    BUSBAR_ASSIGN(const auto size, table.number(row, "size_bytes"));
    BUSBAR_ASSIGN(const auto us, table.number(row, "time_us"));
    if (!size || *size < 1) continue;
    if (!us || *us <= 0) return invalid("there is no time above 0 in this row", table.where(row, "time_us"));
    const std::string& op = table.cell(row, "collective");
    if (!collective.empty() && !op.empty() && op != collective)
      return several(collective, op, table.where(row, "collective"));
    if (!op.empty()) collective = op;
    if (table.column("gpus") != CsvTable::kAbsent) {
      BUSBAR_ASSIGN(const auto gpus, table.number(row, "gpus"));
      if (gpus && ranks != 0 && *gpus != ranks)
        return several(fmt::format("results of {} GPUs", ranks), fmt::format("of {}", *gpus), table.where(row, "gpus"));
      if (gpus && *gpus >= 1) ranks = static_cast<std::uint32_t>(*gpus);
    }
    times[static_cast<std::uint64_t>(*size)].push_back(*us);
    add_line(table.where(row, "").line, at);
  }
  MeasuredResults out{std::move(collective)};
  out.at = std::move(at);
  out.ranks = ranks;
  return from_times(std::move(times), std::move(out), table.file());
}

/// The number after `name` in the line of settings; 0 if there is none.
unsigned setting(std::string_view settings, std::string_view name) {
  unsigned n = 0;
  const std::size_t at = settings.find(name);
  if (at == std::string_view::npos) return 0;
  const std::size_t from = settings.find_first_not_of(' ', at + name.size());
  if (from != std::string_view::npos) std::from_chars(settings.data() + from, settings.data() + settings.size(), n);
  return n;
}

/// Source: NVIDIA nccl-tests, src/common.cu: -G launches graphs; threads and their GPUs are in one process.
std::string launch_of(std::string_view settings) {
  const unsigned per_process = setting(settings, "nThread ") * setting(settings, "nGpus ");
  if (per_process == 0) return "";
  if (setting(settings, "graph: ") > 0) return "graph";
  return per_process > 1 ? "loop" : "process";
}

/// Median time in place, relative to out of place, of the sizes of the plateau.
double in_place_of(const formats::PerfResults& results) {
  std::vector<double> out;
  for (const formats::PerfTable& t : results.tables) {
    std::uint64_t largest = 0;
    for (const formats::PerfRow& row : t.rows) largest = std::max(largest, row.size_bytes);
    for (const formats::PerfRow& row : t.rows)
      if (row.out_of_place && row.in_place && row.out_of_place->time_us > 0 && row.size_bytes >= largest / kPlateau)
        out.push_back(row.in_place->time_us / row.out_of_place->time_us);
  }
  return out.empty() ? 1 : median_of(std::move(out));
}

/// Times of both places count; sizes of 0 are skipped.
Result<MeasuredResults> from_tables(const formats::PerfResults& results, const std::string& name) {
  MeasuredResults out;
  std::map<std::uint64_t, std::vector<double>> times;
  for (const formats::PerfTable& t : results.tables) {
    if (!t.library.empty()) out.library = t.library;
    if (!t.settings.empty()) out.launch = launch_of(t.settings);
    const std::size_t ranks = t.ranks.empty() ? static_cast<std::size_t>(t.rank_count) : t.ranks.size();
    if (ranks > 0) out.ranks = static_cast<std::uint32_t>(ranks);
    if (!out.collective.empty() && !t.collective.empty() && t.collective != out.collective && !t.rows.empty())
      return several(out.collective, t.collective, {name, t.rows.front().line, 0, ""});
    if (out.collective.empty()) out.collective = t.collective;
    std::set<std::string> hosts;
    for (const formats::PerfRank& rank : t.ranks) hosts.insert(rank.host);
    if (!t.ranks.empty()) out.product = t.ranks.front().product;
    if (!t.ranks.empty()) out.hosts = static_cast<std::uint32_t>(hosts.size());
    for (const formats::PerfRow& row : t.rows) {
      add_line(row.line, out.at);
      out.reduction = row.op == "none" ? "" : row.op;
      out.root = row.root;
      for (const auto& half : {row.out_of_place, row.in_place}) {
        if (!half || row.size_bytes == 0) continue;
        if (half->time_us <= 0)
          return invalid(fmt::format("{} us is not a time of {} B", half->time_us, row.size_bytes),
                         {name, row.line, 0, ""});
        times[row.size_bytes].push_back(half->time_us);
        if (half->algbw_GBps > 0) out.bus_per_algorithm = half->busbw_GBps / half->algbw_GBps;
      }
    }
  }
  for (const formats::UnknownPart& part : results.unknown)
    out.unread.push_back(fmt::format("line {}: {}", part.line, part.what));
  out.in_place = in_place_of(results);
  return from_times(std::move(times), std::move(out), name);
}

/// "time" without a unit, and no name of a test: rccl-tests writes that name and microseconds, other programs may not.
bool lacks_units(std::string_view text) {
  const std::string_view head = text.substr(0, text.find_first_of("\r\n"));
  const auto is_name = [](std::string_view column) { return formats::trimmed(column) == "name"; };
  const auto columns = split_at(head, ',');
  return formats::looks_like_perf_csv(head) && std::none_of(columns.begin(), columns.end(), is_name);
}

/// Takes times as microseconds, and says so, if the bandwidths of the file agree. Pre: lacks_units() of its text.
Status assume_microseconds(const formats::PerfResults& read, const std::string& name, MeasuredResults& out) {
  constexpr double kLeast = 0.4, kMost = 2.1;  // of busbw / algbw, for collectives of two ranks and more
  const auto bus_per_algorithm = [](const formats::PerfRow& row, double time_us) {
    return row.out_of_place->busbw_GBps * 1e3 * time_us / static_cast<double>(row.size_bytes);
  };
  const auto agrees = [](double ratio) { return ratio >= kLeast && ratio <= kMost; };
  for (const formats::PerfTable& t : read.tables)
    for (const formats::PerfRow& row : t.rows) {
      if (!row.out_of_place || row.size_bytes < (1 << 20) || row.out_of_place->busbw_GBps <= 0) continue;
      const double time = row.out_of_place->time_us;
      for (const auto& [us, unit] : {std::pair(1e3, "milliseconds"), {1e6, "seconds"}, {1e-3, "nanoseconds"}})
        if (agrees(bus_per_algorithm(row, us * time)) && !agrees(bus_per_algorithm(row, time)))
          return invalid(
              fmt::format("the column time has no unit, and by size and busbw it is {}; give it as time_us, in "
                          "microseconds, and the size as size_bytes",
                          unit),
              {name, row.line, 0, "time"});
    }
  out.assumed.emplace_back("the columns size and time have no unit: they are bytes and microseconds");
  return {};
}

Result<MeasuredResults> from_perf(std::string_view text, const formats::PerfResults& read, const std::string& name) {
  BUSBAR_ASSIGN(MeasuredResults out, from_tables(read, name));
  if (lacks_units(text)) BUSBAR_RETURN_IF_ERROR(assume_microseconds(read, name, out));
  return out;
}

bool is_plain_csv(std::string_view text) {
  return text.substr(0, text.find('\n')).find("size_bytes") != std::string_view::npos;
}

/// Nothing in a text that holds no table.
Result<formats::PerfResults> perf_results_of(std::string_view text, const std::string& name) {
  constexpr std::size_t kHead = 4096;
  if (formats::looks_like_perf_json(text.substr(0, kHead))) return formats::read_perf_json(text, name);
  if (formats::looks_like_perf_csv(text.substr(0, kHead))) return formats::read_perf_csv(text, name);
  formats::LineSource lines = formats::LineSource::of_text(text, name);
  Result<formats::PerfResults> results = formats::read_perf_table(lines);
  return results.ok() ? std::move(results) : formats::PerfResults();
}

Result<std::vector<NamedResults>> csv_tables(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const CsvTable table, csv_of(text, name));
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> rows;
  for (std::size_t r = 0; r < table.rows(); ++r)
    rows[{table.cell(r, "collective"), table.cell(r, "gpus")}].push_back(r);
  std::vector<NamedResults> out;
  for (const auto& [key, of] : rows) {
    BUSBAR_ASSIGN(MeasuredResults results, from_csv(table, of));
    out.push_back({name, std::move(results)});
  }
  if (out.empty()) return from_times({}, {}, name).error();
  return out;
}

Result<std::vector<NamedResults>> perf_tables(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(formats::PerfResults all, perf_results_of(text, name));
  std::map<std::pair<std::string, std::size_t>, formats::PerfResults> runs;
  for (formats::PerfTable& t : all.tables)
    if (!t.rows.empty())
      runs[{t.collective, t.ranks.empty() ? static_cast<std::size_t>(t.rank_count) : t.ranks.size()}].tables.push_back(
          std::move(t));
  std::vector<NamedResults> out;
  for (const auto& [key, run] : runs) {
    BUSBAR_ASSIGN(MeasuredResults results, from_perf(text, run, name));
    out.push_back({name, std::move(results)});
  }
  if (out.empty()) return from_times({}, {}, name).error();
  return out;
}

Result<std::vector<NamedResults>> tables_of(std::string_view text, const std::string& name) {
  return is_plain_csv(text) ? csv_tables(text, name) : perf_tables(text, name);
}

}  // namespace

Result<MeasuredResults> parse_results(std::string_view text, const std::string& name) {
  if (is_plain_csv(text)) {
    BUSBAR_ASSIGN(const CsvTable table, csv_of(text, name));
    return from_csv(table, all_rows(table));
  }
  BUSBAR_ASSIGN(const formats::PerfResults results, perf_results_of(text, name));
  return from_perf(text, results, name);
}

namespace {

/// Adds the results of one more file of a set.
Status join(MeasuredResults more, const std::string& name, MeasuredResults& all) {
  const Where where{name, 0, 0, ""};
  if (!all.collective.empty() && !more.collective.empty() && all.collective != more.collective)
    return several(all.collective, more.collective, where);
  if (all.ranks != 0 && more.ranks != 0 && all.ranks != more.ranks)
    return several(fmt::format("results of {} GPUs", all.ranks), fmt::format("of {}", more.ranks), where);
  if (all.rows.empty()) {
    more.files.swap(all.files);
    all = std::move(more);
    return {};
  }
  all.rows.insert(all.rows.end(), more.rows.begin(), more.rows.end());
  for (std::string& line : more.unread) all.unread.push_back(name + ": " + line);
  return {};
}

std::string what_else(std::string_view text, const Error& error) {
  constexpr std::size_t kHead = 64 << 10;
  const formats::FormatEntry* const format = formats::find_format(text.substr(0, kHead));
  return format != nullptr ? format->summary : error.message;
}

/// Reads a file of a set for its results, and lists it.
Status add_file(const Input& input, MeasuredResults& all) {
  const Result<std::string> text = read_text(input);
  Result<MeasuredResults> read = text.ok() ? parse_results(*text, input.name()) : text.error();
  if (read.ok()) {
    all.files.push_back({input.name(),
                         fmt::format("{} sizes of {}", read->rows.size(),
                                     read->collective.empty() ? "a collective without a name" : read->collective),
                         true});
    return join(std::move(*read), input.name(), all);
  }
  all.files.push_back({input.name(), text.ok() ? what_else(*text, read.error()) : text.error().message, false});
  return {};
}

bool looks_like_steps(std::string_view text) {
  const std::string_view head = text.substr(0, text.find('\n'));
  return head.find("step_time_s") != head.npos && head.find("train") != head.npos;
}

Result<std::vector<MeasuredStep>> steps_of(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const CsvTable table, CsvTable::parse(text, name));
  std::vector<MeasuredStep> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    BUSBAR_ASSIGN(const auto seconds, table.number(row, "step_time_s"));
    const Where where = table.where(row, "step_time_s");
    if (!seconds || *seconds <= 0) return invalid("a step takes a time above 0, in seconds", where);
    out.push_back({table.cell(row, "train"), *seconds, {name, where.line, where.line, date_in(text, name)}});
  }
  if (out.empty()) return invalid("the table of steps has no rows", {name, 0, 0, ""});
  return out;
}

/// Adds the tables, the tests of links, or the steps of one file.
Status add_own(std::string_view text, const std::string& name, OwnFiles& out) {
  if (looks_like_link_tests(text)) {
    BUSBAR_ASSIGN(std::vector<LinkTest> links, read_link_tests(text, name));
    std::move(links.begin(), links.end(), std::back_inserter(out.links));
    return {};
  }
  if (looks_like_steps(text)) {
    BUSBAR_ASSIGN(std::vector<MeasuredStep> steps, steps_of(text, name));
    std::move(steps.begin(), steps.end(), std::back_inserter(out.steps));
    return {};
  }
  BUSBAR_ASSIGN(std::vector<NamedResults> tables, tables_of(text, name));
  for (NamedResults& t : tables) t.results.at.date = date_in(text, name);
  std::move(tables.begin(), tables.end(), std::back_inserter(out.tables));
  return {};
}

Error no_results(const std::string& name, const MeasuredResults& all) {
  std::string words;
  for (const ResultsFile& f : all.files)
    if (words.size() < 200) words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", f.name, f.what);
  return invalid("no file in it holds results: " + words, {name, 0, 0, ""});
}

}  // namespace

Result<MeasuredResults> read_results(const std::string& name) {
  BUSBAR_ASSIGN(InputFiles files, InputFiles::open(name));
  Result<std::optional<Input>> file = files.next();
  if (!files.several()) {
    BUSBAR_ASSIGN(const std::optional<Input> alone, std::move(file));
    BUSBAR_ASSIGN(const std::string text, read_text(*alone));
    return parse_results(text, name);
  }
  MeasuredResults all;
  for (; !file.ok() || *file; file = files.next()) {
    if (!file.ok()) {
      all.files.push_back({file.error().where.file, file.error().message, false});
      continue;
    }
    BUSBAR_RETURN_IF_ERROR(add_file(**file, all));
  }
  std::map<std::uint64_t, std::vector<double>> times;
  for (const MeasuredResult& r : all.rows) times[r.size_bytes].push_back(r.us);
  all.rows.clear();
  if (times.empty()) return no_results(name, all);
  return from_times(std::move(times), std::move(all), name);
}

Result<OwnFiles> read_own_files(const std::string& name) {
  BUSBAR_ASSIGN(InputFiles files, InputFiles::open(name));
  OwnFiles out;
  MeasuredResults none;  // files without results, for the message
  for (Result<std::optional<Input>> file = files.next(); !file.ok() || *file; file = files.next()) {
    if (!file.ok()) {
      if (!files.several()) return file.error();
      continue;
    }
    const Result<std::string> text = read_text(**file);
    const Status read = text.ok() ? add_own(*text, (*file)->name(), out) : Status(text.error());
    if (!read.ok() && !files.several()) return read.error();
    if (!read.ok())
      none.files.push_back({(*file)->name(), text.ok() ? what_else(*text, read.error()) : read.error().message, false});
  }
  if (out.tables.empty() && out.links.empty() && out.steps.empty()) return no_results(name, none);
  return out;
}

}  // namespace busbar::accuracy
