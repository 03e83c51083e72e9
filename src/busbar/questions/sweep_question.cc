#include "busbar/questions/sweep_question.h"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "busbar/base/json.h"
#include "busbar/base/text.h"
#include "busbar/questions/question.h"
#include "busbar/study/peers.h"
#include "busbar/study/ranks.h"
#include "busbar/study/study_file.h"

namespace busbar::questions {

const Record& record_of(const SweepRequest*) {
  static const Record record(
      "sweep request",
      {Field("file", &SweepRequest::file, "", "YAML file with command, grid, list, random (docs/formats/sweep.md)")
           .takes("FILE")
           .as_word(),
       Field("out", &SweepRequest::out, "", "the database; .csv and .jsonl are written next to it (default: FILE.db)")
           .takes("FILE")
           .of("Files")
           .undecided(),
       Field("threads", &SweepRequest::threads, "", "cells to run at the same time (default: one per processor)")
           .takes("N")
           .of("Sweep")
           .undecided(),
       Field("shard", &SweepRequest::shard, "",
             "only every N-th cell, starting with the I-th: for jobs on several machines; auto: as Slurm, MPI or "
             "Kubernetes number this process")
           .takes("I/N")
           .of("Sweep"),
       Field("merge", &SweepRequest::merge, "",
             "add the cells of another database of this study, and run nothing; a pattern such as 'part*.db' names "
             "several; may be repeated")
           .takes("FILE")
           .of("Sweep"),
       Field("cells_left", &SweepRequest::cells_left, "",
             "only say how many cells are not done, and end with status 1 if there are any")
           .of("Sweep")});
  return record;
}

const Record& record_of(const SweepResult*) {
  static const Record record(
      "sweep", {{"cells", &SweepResult::cells, "", "of the study"},
                {"rows", &SweepResult::rows, "", "cells that are done"},
                {"failed", &SweepResult::failed, "", "of them, whose command could not run"},
                {"complete", &SweepResult::complete, "", "all cells that were asked for are done"},
                Field("cells_left", &SweepResult::cells_left, "", "of those asked for, that are not done").or_absent(),
                Field("shard", &SweepResult::shard, "", "that srun gave this process").or_absent(),
                {"database", &SweepResult::database, "", "SQLite, with the tables cells and study"},
                {"csv", &SweepResult::csv, "", "a line per cell, or per row of its result"},
                {"jsonl", &SweepResult::jsonl, "", "a line of JSON per cell"},
                {"inputs_hash", &SweepResult::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

namespace {

struct Shard {
  std::uint64_t number = 1, of = 1;
  bool has(std::uint64_t cell) const { return cell % of == number - 1; }
};

/// A number that the starter of a job sets for each of its processes.
std::optional<std::uint64_t> set_by_starter(const char* variable) {
  const char* const text = std::getenv(variable);
  std::uint64_t out = 0;
  return text != nullptr && is_number(std::string(text), out) ? std::optional(out) : std::nullopt;
}

/// Which of how many processes this is, as Open MPI, MPICH, Slurm or Kubernetes say. Kubernetes does not say how many
/// indices a job has: the job sets BUSBAR_SHARDS.
Result<Shard> shard_of_job() {
  struct Names {
    const char *index, *first, *count;
  };
  constexpr Names kStarters[] = {{"OMPI_COMM_WORLD_RANK", nullptr, "OMPI_COMM_WORLD_SIZE"},
                                 {"PMI_RANK", nullptr, "PMI_SIZE"},
                                 {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"},
                                 {"SLURM_PROCID", nullptr, "SLURM_NTASKS"},
                                 {"JOB_COMPLETION_INDEX", nullptr, "BUSBAR_SHARDS"}};
  for (const Names& n : kStarters) {
    const auto index = set_by_starter(n.index), count = set_by_starter(n.count);
    const std::uint64_t first = n.first == nullptr ? 0 : set_by_starter(n.first).value_or(0);
    if (index && count && *index >= first && *index - first < *count) return Shard{*index - first + 1, *count};
  }
  return invalid(
      "no starter of jobs says which of how many processes this is (Open MPI, MPICH, Slurm; Kubernetes with "
      "BUSBAR_SHARDS); write it, such as 3/8",
      field_of("shard"));
}

/// That of a process of `srun` without MPI: Slurm counts the tasks of a step only for processes that srun started, and
/// not for the script that sbatch runs.
std::optional<Shard> shard_of_srun() {
  const auto index = set_by_starter("SLURM_PROCID"), count = set_by_starter("SLURM_STEP_NUM_TASKS");
  if (!index || !count || *count < 2 || *index >= *count) return {};
  return Shard{*index + 1, *count};
}

Result<Shard> parse_shard(const std::string& text) {
  Shard out;
  if (text.empty()) return out;
  if (text == "auto") return shard_of_job();
  const std::size_t slash = text.find('/');
  const bool good = slash != std::string::npos && is_number(text.substr(0, slash), out.number) &&
                    is_number(text.substr(slash + 1), out.of) && out.number >= 1 && out.number <= out.of;
  if (!good) return invalid(fmt::format("'{}' is not i/n, such as 3/8, nor auto", text), field_of("shard"));
  return out;
}

Json settings_json(const study::CellSettings& settings) {
  Json out = Json::object();
  for (const auto& [key, value] : settings) out[key] = value;
  return out;
}

study::StudyRow run_cell(const study::Study& study, std::uint64_t cell, const Context& context) {
  LineAnswer answer = context.answer_line(study.words(cell));
  study::StudyRow row;
  row.cell = cell;
  row.settings = settings_json(study.settings(cell)).dump();
  row.status = answer.status;
  if (answer.json.is_object()) row.result = answer.json.dump();
  row.message = std::move(answer.message);
  return row;
}

/// Runs `cells` on threads; each commits its own cell. Ends early when interrupted, or with the first error.
Status run_cells(const study::Study& study, const std::vector<std::uint64_t>& cells, std::uint64_t threads,
                 const Context& context, study::StudyStore& store) {
  std::atomic<std::size_t> next{0}, done{0};
  std::atomic<std::uint64_t> working{threads};
  std::vector<std::optional<Error>> errors(threads);
  const auto work = [&](std::uint64_t worker) {
    for (std::size_t at = next++; at < cells.size() && !context.stopped(); at = next++) {
      const study::StudyRow row = run_cell(study, cells[at], context);
      if (context.stopped()) break;  // an unfinished cell looks like a failed one
      if (const Status put = store.put(row); !put.ok()) {
        errors[worker] = put.error();
        next = cells.size();
      }
      ++done;
    }
    --working;
  };
  std::vector<std::thread> workers;
  for (std::uint64_t w = 0; w < threads; ++w) workers.emplace_back(work, w);
  for (constexpr std::chrono::milliseconds kLook(50); working > 0; std::this_thread::sleep_for(kLook))
    context.go_on("cells", done, cells.size());
  for (std::thread& w : workers) w.join();
  context.go_on("cells", done, cells.size());
  for (const std::optional<Error>& e : errors)
    if (e) return *e;
  return {};
}

/// Error kInvalid if the file holds something other than a table of a sweep, for example an input of the cells.
Status check_replaceable(const std::string& path, std::string_view begins) {
  std::ifstream in(path, std::ios::binary);  // as an Input it could not be written later
  std::string head(begins.size(), '\0');
  head.resize(static_cast<std::size_t>(in.read(head.data(), static_cast<std::streamsize>(head.size())).gcount()));
  if (head.empty() || head == begins) return {};
  return invalid("is no table of a sweep and is not overwritten; name another database with --out", {path, 0, 0, ""});
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

/// `own`: srun gave the shard, so that all processes have one --out.
std::string database_of(const SweepRequest& q, const Shard& shard, bool own) {
  if (!q.out.empty() && !own) return q.out;
  const std::string base = q.out.empty() ? default_base(q.file) : without_ending(q.out);
  return shard.of > 1 ? fmt::format("{}-{}-of-{}.db", base, shard.number, shard.of) : base + ".db";
}

/// Cells of the shard.
std::vector<std::uint64_t> asked_cells(const study::Study& study, const Shard& shard) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t c = 0; c < study.cells(); ++c)
    if (shard.has(c)) out.push_back(c);
  return out;
}

std::uint64_t threads_for(const SweepRequest& q, std::size_t cells) {
  const std::uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::clamp<std::uint64_t>(q.threads > 0 ? q.threads : cores, 1, std::max<std::size_t>(1, cells));
}

/// Runs cells on threads, or hands them out to peers.
Status run_open_cells(const study::Study& study, const std::vector<std::uint64_t>& open, study::Peers* peers,
                      const Context& context, std::uint64_t threads, study::StudyStore& store, SweepResult& r) {
  if (peers == nullptr) return open.empty() ? Status() : run_cells(study, open, threads, context, store);
  const auto go_on = [&](std::size_t done, std::size_t total) {
    return total == 0 ? !context.stopped() : context.go_on("cells", done, total);
  };
  BUSBAR_ASSIGN(const study::HandedOut handed, study::hand_out(*peers, study.text(), open, store, go_on));
  r.lost_workers = handed.lost;
  r.repeated = handed.repeated;
  return {};
}

/// The files that `merge` names, in order, without the database itself.
Result<std::vector<std::string>> merged_files(const std::vector<std::string>& merge, const std::string& database) {
  std::vector<std::string> out;
  std::error_code none;
  for (const std::string& name : merge) {
    if (name.find_first_of("*?[") == std::string::npos || std::filesystem::exists(name, none)) {
      out.push_back(name);
      continue;
    }
    glob_t found{};
    const bool any = glob(name.c_str(), 0, nullptr, &found) == 0;
    for (std::size_t i = 0; any && i < found.gl_pathc; ++i)
      if (!std::filesystem::equivalent(found.gl_pathv[i], database, none)) out.emplace_back(found.gl_pathv[i]);
    globfree(&found);
    if (!any) return invalid(fmt::format("no file matches '{}'", name), field_of("merge"));
  }
  return out;
}

Status take_rows(study::StudyStore& store, SweepResult& r) {
  return store.each([&](const study::StudyRow& cell) -> Status {
    ++r.rows;
    if (cell.status == study::kFailedCell && r.failed++ == 0)
      r.first_failure = fmt::format("cell {}: {}", cell.cell, cell.message);
    r.done.push_back(cell);
    return {};
  });
}

/// Pre: this process keeps the database.
Result<SweepResult> managed_sweep(const SweepRequest& q, const Shard& shard, bool of_srun, const study::Study& study,
                                  study::Peers* peers, const Context& context) {
  SweepResult r;
  if (of_srun) r.shard = fmt::format("{}/{}", shard.number, shard.of);
  r.database = database_of(q, shard, of_srun);
  const std::string base = without_ending(r.database);
  r.csv = base + ".csv";
  r.jsonl = base + ".jsonl";
  BUSBAR_RETURN_IF_ERROR(check_replaceable(r.csv, "cell,"));
  BUSBAR_RETURN_IF_ERROR(check_replaceable(r.jsonl, "{\"cell\":"));
  BUSBAR_ASSIGN(const std::unique_ptr<study::StudyStore> store, study::StudyStore::open(r.database, study.text()));
  BUSBAR_ASSIGN(const std::vector<std::string> others, merged_files(q.merge, r.database));
  for (const std::string& other : others) BUSBAR_RETURN_IF_ERROR(store->merge(other));
  BUSBAR_ASSIGN(const std::vector<std::uint64_t> known, store->done());
  const std::vector<std::uint64_t> asked = asked_cells(study, shard);
  std::vector<std::uint64_t> open;
  std::set_difference(asked.begin(), asked.end(), known.begin(), known.end(), std::back_inserter(open));
  r.cells = study.cells();
  r.known = known.size();
  r.workers = peers == nullptr ? 0 : static_cast<std::uint64_t>(peers->size() - 1);
  const std::uint64_t threads = peers == nullptr ? threads_for(q, open.size()) : 1;
  const std::size_t new_cells = open.size();
  if (q.cells_left) r.cells_left = open.size();
  if (!q.merge.empty() || q.cells_left) open.clear();
  BUSBAR_RETURN_IF_ERROR(run_open_cells(study, open, peers, context, threads, *store, r));
  BUSBAR_RETURN_IF_ERROR(take_rows(*store, r));
  r.of_run = {{"threads", threads}, {"workers", r.workers}, {"lost_workers", r.lost_workers}, {"new_cells", new_cells}};
  r.complete = r.rows >= asked.size();
  r.inputs_hash = inputs_hash("sweep", q, "");
  r.exit_status = (q.cells_left ? new_cells : r.failed) > 0 ? 1 : 0;
  return r;
}

}  // namespace

Result<SweepResult> answer(const SweepRequest& q, const Context& context) {
  if (!context.answer_line) return unsupported("a sweep is of command lines, and this caller reads none");
  BUSBAR_ASSIGN(Shard shard, parse_shard(q.shard));
  if (q.out.empty() && (q.file == "-" || q.file.starts_with("/dev/")))
    return invalid("name the database, because a study from a pipe has no file name: --out study.db", field_of("out"));
  BUSBAR_ASSIGN(const study::Study study, study::Study::load(q.file));
  BUSBAR_RETURN_IF_ERROR(context.check_command(study.command(), study.command_named_at()));
  std::unique_ptr<study::Peers> peers;  // a process with a shard of its own needs no others
  const bool runs_none = q.cells_left || !q.merge.empty();
  if (q.shard.empty() && !runs_none) {
    BUSBAR_ASSIGN(peers,
                  study::Peers::join("run the whole sweep; start one per shard with --shard I/N and --merge them"));
  }
  if (peers && peers->rank() > 0) {
    BUSBAR_RETURN_IF_ERROR(
        study::serve(*peers, study.text(), [&](std::uint64_t cell) { return run_cell(study, cell, context); }));
    SweepResult out;
    out.silent = true;
    return out;
  }
  if (peers && q.threads > 0)
    return invalid("under mpirun each rank but the first runs one cell; start more ranks instead", field_of("threads"));
  const std::optional<Shard> of_srun = peers || !q.shard.empty() ? std::nullopt : shard_of_srun();
  if (of_srun && runs_none && of_srun->number > 1) {  // the first one does it
    SweepResult out;
    out.silent = true;
    return out;
  }
  if (of_srun && !runs_none) shard = *of_srun;
  return managed_sweep(q, shard, of_srun && !runs_none, study, peers.get(), context);
}

Question sweep_question() {
  return make_question<SweepRequest, SweepResult>(
      "sweep", "one command with many settings, into a database, CSV and JSON lines; can be stopped and resumed",
      "  busbar sweep examples/sweep.yaml\n"
      "  busbar sweep examples/sweep.yaml --threads 2 --out study.db --json\n"
      "  mpirun -n 8 busbar sweep examples/sweep.yaml\n"
      "  busbar sweep examples/sweep.yaml --shard 1/2 --out part1.db\n"
      "  busbar sweep examples/sweep.yaml --shard 2/2 --out part2.db\n"
      "  busbar sweep examples/sweep.yaml --merge 'part*.db' --out whole.db\n"
      "  until busbar sweep examples/sweep.yaml --cells-left; do sbatch --wait study.sh; done\n",
      190, 2);
}

}  // namespace busbar::questions
