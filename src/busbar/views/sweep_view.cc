// A sweep: what is done, and the tables of its cells.
#include <fmt/core.h>

#include "busbar/base/json.h"
#include "busbar/formats/json_text.h"
#include "busbar/questions/sweep_question.h"
#include "busbar/views/csv_rows.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::SweepRequest;
using questions::SweepResult;

report::Facts sweep_facts(const SweepResult& r) {
  report::Facts f;
  if (r.cells_left) {
    f.items = {{"cells left", fmt::format("{} of {}", *r.cells_left, r.cells)}, {"database", r.database}};
    return f;
  }
  f.items = {{"cells", fmt::format("{} of {} are done; {} of them were done before", r.rows, r.cells, r.known)},
             {"database", r.database + " (tables cells and study)"},
             {"tables", r.csv + ", " + r.jsonl}};
  if (!r.lost_workers.empty())
    f.items.emplace_back("lost", fmt::format("{} of {} workers; {} of their cells ran again", r.lost_workers.size(),
                                             r.workers, r.repeated));
  if (r.failed > 0) f.items.emplace_back("failed", fmt::format("{}; {}", r.failed, r.first_failure));
  if (r.shard)
    f.items.emplace_back("shard", *r.shard + " as srun started this process; --merge puts the databases together");
  if (!r.complete) f.items.emplace_back("to go on", "run the same command again, or --merge the other shards");
  return f;
}

report::Document sweep_document(const SweepRequest& q, const SweepResult& r) {
  return {"Sweep of " + q.file, {}, {{sweep_facts(r)}}};
}

/// Text that this program has written.
Json own_json(const std::string& text) {
  const Result<Json> json = formats::parse_json(text, "cell");
  return json.ok() ? *json : Json();
}

/// One line per cell, or per row of its result: settings, then figures.
void add_rows(const study::StudyRow& cell, const Json& settings, const Json& result, Json& rows) {
  Json head{{"cell", cell.cell}};
  for (const auto& [key, value] : settings.members()) head[key] = value;
  head["status"] = cell.status;
  head["message"] = cell.message;
  const auto add = [&](const Json& figures) {
    Json row = head;
    for (const auto& [key, value] : figures.members())
      if (!value.is_array() && key != "schema") row[key] = value;
    rows.push_back(std::move(row));
  };
  const Json* const list = result.is_object() ? main_list(result) : nullptr;
  if (list == nullptr || list->empty()) return result.is_object() ? add(result) : rows.push_back(std::move(head));
  for (const Json& row : list->values()) add(row);
}

std::vector<questions::OutputFile> sweep_files(const SweepRequest&, const SweepResult& r) {
  if (r.cells_left) return {};
  std::string lines;
  Json rows = Json::array();
  for (const study::StudyRow& cell : r.done) {
    const Json settings = own_json(cell.settings);
    Json result = cell.result.empty() ? Json() : own_json(cell.result);
    add_rows(cell, settings, result, rows);
    lines += Json{{"cell", cell.cell},
                  {"settings", settings},
                  {"status", cell.status},
                  {"message", cell.message},
                  {"result", std::move(result)}}
                 .dump() +
             '\n';
  }
  return {{r.jsonl, std::move(lines)}, {r.csv, csv_of({{"rows", std::move(rows)}})}};
}

}  // namespace

View sweep_view() {
  View out = make_view("sweep", sweep_document);
  out.add_files(sweep_files);
  return out;
}

}  // namespace busbar::views
