// The content of a file of another program.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/formats/import.h"
#include "busbar/questions/import_question.h"
#include "busbar/views/bound_words.h"
#include "busbar/views/schedule_table.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::ImportAnswer;
using questions::ImportRequest;
using questions::ImportResult;
using questions::ImportSetFile;
using questions::ImportSetResult;
using questions::MessagesResult;
using questions::ScheduleTimes;
using questions::TimedImport;
using questions::TraceRow;
using questions::TraceTimes;

std::string json_in_words(const Json& value) {
  if (value.is_string()) return value.text();
  if (value.is_number_float()) return format_number(value.number(), 4);
  if (value.is_boolean()) return value.truth() ? "yes" : "no";
  if (value.is_null()) return "not said";
  if (value.is_array()) {
    const std::vector<Json>& list = value.values();
    const bool plain =
        list.size() <= 16 && std::none_of(list.begin(), list.end(), [](const Json& v) { return v.is_structured(); });
    if (!plain) return fmt::format("{} entries", list.size());
    std::string out;
    for (const Json& v : list) append_word(out, json_in_words(v));
    return out.empty() ? "none" : out;
  }
  if (value.is_object()) {
    std::string out;
    for (const auto& [key, v] : value.members()) append_word(out, key + " " + json_in_words(v));
    return out;
  }
  return value.dump();
}

/// A list of similar maps as a table of their scalar columns.
std::optional<report::Table> table_of_maps(const std::string& title, const Json& list) {
  constexpr std::size_t kMostRows = 40, kMostColumns = 8;
  if (!list.is_array() || list.empty() || !list.values().front().is_object()) return std::nullopt;
  report::Table t;
  t.title = title;
  std::vector<std::string> keys;
  for (const Json& row : list.values())
    for (const auto& [key, v] : row.members())
      if (!(v.is_array() && !v.empty() && v.values().front().is_structured()) && keys.size() < kMostColumns &&
          std::find(keys.begin(), keys.end(), key) == keys.end())
        keys.push_back(key);
  for (const std::string& key : keys) t.columns.push_back(report::to_left(key));
  for (const Json& row : list.values()) {
    if (t.rows.size() == kMostRows) {
      t.note = fmt::format("{} more rows; --json has them all.", list.size() - kMostRows);
      break;
    }
    std::vector<std::string> cells;
    for (const std::string& key : keys) cells.push_back(row.contains(key) ? json_in_words(row[key]) : "");
    t.rows.push_back(std::move(cells));
  }
  return t;
}

report::Document report_document(const ImportResult& report) {
  report::Document d{fmt::format("{}: {}", report.file, report.kind), {}, {}};
  report::Facts facts;
  for (const formats::FormatEntry& f : formats::import_formats())
    if (report.kind == f.kind) facts.items.emplace_back("kind", fmt::format("{} ({})", report.kind, f.summary));
  for (const auto& [key, value] : report.found.members())
    if (key != "matrix" && (!value.is_array() || !table_of_maps(key, value)))
      facts.items.emplace_back(key, json_in_words(value));
  facts.items.emplace_back("unknown",
                           report.unknown.empty() ? "nothing" : fmt::format("{} parts", report.unknown.size()));
  d.add(facts);
  for (const auto& [key, value] : report.found.members())
    if (auto table = table_of_maps(key, value)) d.add(std::move(*table));
  for (const std::string& note : report.notes) d.add(report::Paragraph{"Assumed: " + note + "."});
  if (report.unknown.empty()) return d;
  report::Table unknown{"Unknown or unused parts", {"line", report::to_left("what"), "times"}};
  for (const formats::UnknownPart& u : report.unknown)
    unknown.rows.push_back({std::to_string(u.line), u.what, std::to_string(u.count)});
  d.add(unknown);
  return d;
}

void add(const TraceTimes& r, const spec::Cluster& cluster, report::Document& d) {
  report::Table t{"On " + r.cluster,
                  {report::to_left("collective"), "bytes", "ranks", "times", "fastest (us)", "predicted (us)",
                   "floor (us)", "fastest/floor", report::to_left("bound by")}};
  for (const TraceRow& c : r.results)
    t.rows.push_back({c.collective, std::to_string(c.size_bytes), c.ranks ? std::to_string(*c.ranks) : "all",
                      std::to_string(c.times), c.measured_us ? format_number(*c.measured_us, 4) : "-",
                      format_number(c.predicted_us, 4), format_number(c.floor_us, 4),
                      c.measured_us ? format_number(*c.measured_us / std::max(1e-9, c.floor_us)) : "-",
                      bound_in_short(c.bound, cluster.topology)});
  t.note = "fastest: of all equal calls, because a kernel that starts early waits for the other ranks.";
  if (!t.rows.empty()) d.add(t);
  if (r.measured_over_floor)
    d.add(report::Highlight{fmt::format("Kernels took {} us in total, {} times their floors.",
                                        format_number(r.measured_us, 4), format_number(*r.measured_over_floor))});
  if (r.suspicious)
    d.add(report::Paragraph{
        "Some are faster than this machine can be: the trace comes from another one, or its sizes are wrong."});
  for (const auto& [why, n] : r.not_timed) d.add(report::Paragraph{fmt::format("Not timed: {}, {} times.", why, n)});
}

void add(const MessagesResult& r, const spec::Cluster& cluster, report::Document& d) {
  d.add(messages_facts(r, cluster.topology));
}

void add(const ScheduleTimes& r, const spec::Cluster& cluster, report::Document& d) {
  d.add(schedule_table(*r.schedule, r.rows, cluster));
}

report::Document document_of(const ImportResult& r) { return report_document(r); }

template <typename Times>
report::Document document_of(const TimedImport<Times>& r) {
  report::Document d = report_document(r.import);
  add(r.timed, r.machine->cluster(), d);
  return d;
}

report::Document document_of(const ImportSetResult& r) {
  report::Document d{fmt::format("{}: {} files", r.file, r.members.size()), {}, {}};
  report::Table files{"Files", {report::to_left("file"), report::to_left("what it is")}};
  for (const ImportSetFile& f : r.members) files.rows.push_back({f.file, f.what});
  d.add(files);
  if (!r.job) return d;
  const report::Document log = report_document(*r.job);
  d.blocks.insert(d.blocks.end(), log.blocks.begin(), log.blocks.end());
  return d;
}

report::Document import_document(const ImportRequest&, const ImportAnswer& a) {
  return std::visit([](const auto& r) { return document_of(r); }, a);
}

}  // namespace

View import_view() { return make_view("import", import_document); }

}  // namespace busbar::views
