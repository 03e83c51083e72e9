#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/text.h"
#include "busbar/cli/command_line.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/session.h"
#include "busbar/formats/json_text.h"
#include "busbar/study/peers.h"
#include "busbar/study/ranks.h"
#include "busbar/study/study_file.h"
#include "busbar/study/study_store.h"
#include "busbar/views/csv_rows.h"

namespace busbar {
namespace {

constexpr int kFailed = 2;  // exit status of a command that could not run

struct SweepFlags {
  CommonOptions common;
  std::string file, out, shard;
  std::vector<std::string> merge;
  std::uint32_t threads = 0;
};

struct Shard {
  std::uint64_t number = 1, of = 1;
  bool has(std::uint64_t cell) const { return cell % of == number - 1; }
};

Result<Shard> parse_shard(const std::string& text) {
  Shard out;
  if (text.empty()) return out;
  const std::size_t slash = text.find('/');
  const bool good = slash != std::string::npos && is_number(text.substr(0, slash), out.number) &&
                    is_number(text.substr(slash + 1), out.of) && out.number >= 1 && out.number <= out.of;
  if (!good) return flag_error("--shard", fmt::format("'{}' is not i/n, such as 3/8", text));
  return out;
}

Json settings_json(const CellSettings& settings) {
  Json out = Json::object();
  for (const auto& [key, value] : settings) out[key] = value;
  return out;
}

StudyRow run_cell(const Study& study, std::uint64_t cell) {
  StudyRow row;
  row.cell = cell;
  row.settings = settings_json(study.settings(cell)).dump();
  const questions::LineAnswer answer = answer_line(study.words(cell));
  row.status = answer.status;
  row.result = answer.json.is_object() ? answer.json.dump() : "";
  row.message = answer.message;
  return row;
}

/// Runs `cells` on threads; each commits its own cell. Ends early when interrupted, or with the first error.
Status run_cells(const Study& study, const std::vector<std::uint64_t>& cells, std::uint32_t threads, LongRun& watch,
                 StudyStore& store) {
  std::atomic<std::size_t> next{0}, done{0};
  std::atomic<std::uint32_t> working{threads};
  std::vector<std::optional<Error>> errors(threads);
  const auto work = [&](std::uint32_t worker) {
    for (std::size_t at = next++; at < cells.size() && !watch.interrupted(); at = next++) {
      const StudyRow row = run_cell(study, cells[at]);
      if (watch.interrupted()) break;  // an unfinished cell looks like a failed one
      if (const Status put = store.put(row); !put.ok()) {
        errors[worker] = put.error();
        next = cells.size();
      }
      ++done;
    }
    --working;
  };
  std::vector<std::thread> workers;
  for (std::uint32_t w = 0; w < threads; ++w) workers.emplace_back(work, w);
  for (constexpr std::chrono::milliseconds kLook(50); working > 0; std::this_thread::sleep_for(kLook))
    watch.go_on(done, cells.size());
  for (std::thread& w : workers) w.join();
  watch.go_on(done, cells.size());
  for (const std::optional<Error>& e : errors)
    if (e) return *e;
  return {};
}

/// One line per cell, or per row of its result: settings, then figures.
void add_rows(const StudyRow& cell, const Json& settings, const Json& result, Json& rows) {
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

struct SweepResult {
  std::uint64_t rows = 0, failed = 0;
  std::string first_failure;
};

/// Error kInvalid if the file holds something other than a table of a sweep, for example an input of the cells.
Status check_replaceable(const std::string& path, std::string_view begins) {
  std::ifstream in(path, std::ios::binary);  // as an Input it could not be written later
  std::string head(begins.size(), '\0');
  head.resize(static_cast<std::size_t>(in.read(head.data(), static_cast<std::streamsize>(head.size())).gcount()));
  if (head.empty() || head == begins) return {};
  return invalid("is no table of a sweep and is not overwritten; name another database with --out", {path, 0, 0, ""});
}

/// Writes all finished cells to two files next to the database, in order of cell.
Result<SweepResult> write_tables(StudyStore& store, const std::string& base) {
  SweepResult out;
  std::string lines;
  Json rows = Json::array();
  BUSBAR_RETURN_IF_ERROR(store.each([&](const StudyRow& cell) -> Status {
    ++out.rows;
    if (cell.status == kFailed && out.failed++ == 0)
      out.first_failure = fmt::format("cell {}: {}", cell.cell, cell.message);
    BUSBAR_ASSIGN(const Json settings, parse_json(cell.settings, "settings"));
    Json result;
    if (!cell.result.empty()) {
      BUSBAR_ASSIGN(result, parse_json(cell.result, "result"));
    }
    add_rows(cell, settings, result, rows);
    lines += Json{{"cell", cell.cell},
                  {"settings", settings},
                  {"status", cell.status},
                  {"message", cell.message},
                  {"result", std::move(result)}}
                 .dump() +
             '\n';
    return {};
  }));
  BUSBAR_RETURN_IF_ERROR(write_file(base + ".jsonl", lines));
  BUSBAR_RETURN_IF_ERROR(write_file(base + ".csv", csv_of({{"rows", std::move(rows)}})));
  return out;
}

std::string without_ending(const std::string& path) {
  const std::size_t dot = path.rfind('.'), slash = path.rfind('/');
  return dot == std::string::npos || (slash != std::string::npos && dot < slash) ? path : path.substr(0, dot);
}

/// Next to the study; in the current folder for a built-in study, which has no folder.
std::string default_base(const std::string& study) {
  const std::filesystem::path path(study), folder = path.parent_path();
  std::error_code ignored;
  return without_ending(folder.empty() || std::filesystem::is_directory(folder, ignored) ? study
                                                                                         : path.filename().string());
}

Result<int> run(const SweepFlags& o) {
  BUSBAR_ASSIGN(const Shard shard, parse_shard(o.shard));
  if (o.out.empty() && (o.file == "-" || o.file.starts_with("/dev/")))
    return flag_error("--out", "name the database, because a study from a pipe has no file name: --out study.db");
  BUSBAR_ASSIGN(const Study study, Study::load(o.file));
  BUSBAR_RETURN_IF_ERROR(check_command(study.command(), study.command_named_at()));
  BUSBAR_ASSIGN(const std::unique_ptr<Peers> peers, Peers::join());
  if (peers && peers->rank() > 0) {
    BUSBAR_RETURN_IF_ERROR(serve(*peers, study.text(), [&](std::uint64_t cell) { return run_cell(study, cell); }));
    return 0;
  }
  if (peers && o.threads > 0)
    return flag_error("--threads", "under mpirun each rank but the first runs one cell; start more ranks instead");
  std::string path = o.out.empty() ? default_base(o.file) + ".db" : o.out;
  if (o.out.empty() && shard.of > 1) path = fmt::format("{}-{}-of-{}.db", default_base(o.file), shard.number, shard.of);
  const std::string base = without_ending(path);
  BUSBAR_RETURN_IF_ERROR(check_replaceable(base + ".csv", "cell,"));
  BUSBAR_RETURN_IF_ERROR(check_replaceable(base + ".jsonl", "{\"cell\":"));
  BUSBAR_ASSIGN(const std::unique_ptr<StudyStore> store, StudyStore::open(path, study.text()));
  for (const std::string& other : o.merge) BUSBAR_RETURN_IF_ERROR(store->merge(other));
  BUSBAR_ASSIGN(const std::vector<std::uint64_t> known, store->done());
  std::vector<std::uint64_t> open;
  std::uint64_t asked = 0;
  for (std::uint64_t c = 0; c < study.cells(); ++c) {
    if (!shard.has(c)) continue;
    ++asked;
    if (!std::binary_search(known.begin(), known.end(), c)) open.push_back(c);
  }
  const std::uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  const auto threads = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(o.threads > 0 ? o.threads : cores, 1, std::max<std::size_t>(1, open.size())));
  LongRun watch("cells");
  HandedOut handed;
  if (peers) {
    BUSBAR_ASSIGN(handed, hand_out(*peers, study.text(), o.merge.empty() ? open : std::vector<std::uint64_t>(), *store,
                                   [&](std::size_t done, std::size_t total) { return watch.go_on(done, total); }));
  } else if (o.merge.empty()) {
    BUSBAR_RETURN_IF_ERROR(run_cells(study, open, threads, watch, *store));
  }
  watch.report_interruption();
  BUSBAR_ASSIGN(const SweepResult r, write_tables(*store, base));
  const bool complete = r.rows >= asked;
  Json j{{"schema", "busbar.sweep/1"}, {"cells", study.cells()}, {"rows", r.rows},       {"failed", r.failed},
         {"complete", complete},       {"database", path},       {"csv", base + ".csv"}, {"jsonl", base + ".jsonl"}};
  j["inputs_hash"] = inputs_hash(o.common);
  j["run"] = o.common.clock.to_json();
  j["run"]["threads"] = peers ? 1 : threads;
  j["run"]["workers"] = peers ? peers->size() - 1 : 0;
  j["run"]["lost_workers"] = handed.lost;
  j["run"]["new_cells"] = open.size();
  Facts f;
  f.items = {
      {"cells", fmt::format("{} of {} are done; {} of them were done before", r.rows, study.cells(), known.size())},
      {"database", path + " (tables cells and study)"},
      {"tables", base + ".csv, " + base + ".jsonl"}};
  if (!handed.lost.empty())
    f.items.emplace_back("lost", fmt::format("{} of {} workers; {} of their cells ran again", handed.lost.size(),
                                             peers->size() - 1, handed.repeated));
  if (r.failed > 0) f.items.emplace_back("failed", fmt::format("{}; {}", r.failed, r.first_failure));
  if (!complete) f.items.emplace_back("to go on", "run the same command again, or --merge the other shards");
  return deliver(o.common, j, {"Sweep of " + o.file, o.common.typed, {{std::move(f)}}},
                 watch.status(r.failed > 0 ? 1 : 0));
}

}  // namespace

Command sweep_command(const std::string& typed) {
  const auto o = std::make_shared<SweepFlags>();
  Command c =
      new_command(o->common, typed, "sweep",
                  "one command with many settings, into a database, CSV and JSON lines; can be stopped and resumed");
  c.examples =
      "  busbar sweep examples/sweep.yaml\n"
      "  busbar sweep examples/sweep.yaml --threads 2 --out study.db --json\n"
      "  mpirun -n 8 busbar sweep examples/sweep.yaml\n"
      "  busbar sweep examples/sweep.yaml --shard 1/2 --out part1.db\n"
      "  busbar sweep examples/sweep.yaml --shard 2/2 --out part2.db\n"
      "  busbar sweep examples/sweep.yaml --merge part1.db --merge part2.db --out whole.db\n";
  c.positionals = {{"FILE", "YAML file with command, grid, list, random (docs/formats/sweep.md)", &o->file}};
  c.flags = {
      {"--out", "FILE", "the database; .csv and .jsonl are written next to it (default: FILE.db)", "Files", &o->out},
      {"--threads", "N", "cells to run at the same time (default: one per processor)", "Sweep", &o->threads},
      {"--shard", "I/N", "only every N-th cell, starting with the I-th: for jobs on several machines", "Sweep",
       &o->shard},
      {"--merge", "FILE", "add the cells of another database of this study, and run nothing; may be repeated", "Sweep",
       &o->merge},
      {"--json", "", "one JSON object on stdout instead of text", "Output", &o->common.json},
  };
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
