#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/session.h"
#include "busbar/doctor/doctor.h"
#include "busbar/formats/comm_groups.h"
#include "busbar/formats/comm_trace.h"
#include "busbar/formats/import.h"
#include "busbar/formats/import_set.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/schedule_times.h"
#include "busbar/questions/sweep.h"
#include "busbar/step/machine.h"
#include "busbar/views/schedule_table.h"

namespace busbar {
namespace {

/// Why a call cannot be timed; empty: it can.
std::string obstacle(const TracedCall& c, std::size_t gpus) {
  if (!c.op) return "an unknown collective";
  if (c.bytes == 0) return "its size was not recorded";
  if (c.ranks > gpus || std::any_of(c.members.begin(), c.members.end(), [&](std::uint32_t r) { return r >= gpus; }))
    return "more ranks than GPUs";
  return {};
}

Result<Prediction> time_call(const TracedCall& c, Predictor& machine) {
  CollectiveCall call = call_over(*c.op, Bytes{c.bytes}, c.ranks > 0 ? c.ranks : machine.ranks());
  if (!c.members.empty()) {
    call.groups = {};
    call.groups.listed = c.members;
    call.groups.listed_groups = 1;
  }
  return machine.time(call, {.relief = false});
}

/// Predicts every kind of collective of the trace on `machine` and adds a table to `document`. Rank r of a group is on
/// GPU r if the trace lists the group's ranks; otherwise the group is on the first GPUs.
Status time_trace(const CommTrace& trace, Predictor& machine, Json& json, Document& document) {
  const Cluster& cluster = machine.cluster();
  Table t{"On " + cluster.name,
          {to_left("collective"), "bytes", "ranks", "times", "fastest (us)", "predicted (us)", "floor (us)",
           "fastest/floor", to_left("bound by")}};
  json = {{"cluster", cluster.name}, {"results", Json::array()}, {"not_timed", Json::object()}};
  double floor_us = 0, measured_us = 0;
  bool suspicious = false;
  for (const TracedCall& c : alike(trace)) {
    std::string why = obstacle(c, cluster.topology.gpus().size());
    const Result<Prediction> timed = why.empty() ? time_call(c, machine) : invalid(why);
    if (!timed.ok()) {
      Json& n = json["not_timed"][timed.error().message];
      n = (n.is_null() ? 0 : static_cast<std::uint64_t>(n.number())) + c.times;
      continue;
    }
    const bool measured = c.fastest_us > 0;
    const double floor = timed->floor.time.in_us(), ratio = c.fastest_us / std::max(1e-9, floor);
    suspicious = suspicious || (measured && ratio < 1);
    json["results"].push_back({{"collective", c.what},
                               {"size_bytes", c.bytes},
                               {"ranks", c.ranks > 0 ? Json(c.ranks) : Json()},
                               {"times", c.times},
                               {"measured_us", measured ? Json(c.fastest_us) : Json()},
                               {"measured_median_us", measured ? Json(c.median_us) : Json()},
                               {"predicted_us", timed->time.in_us()},
                               {"algorithm", timed->algorithm},
                               {"floor_us", floor},
                               {"above_floor_percent", measured ? Json(100 * (ratio - 1)) : Json()},
                               {"bound_by", bound_to_json(timed->bound, cluster.topology)}});
    t.rows.push_back({c.what, std::to_string(c.bytes), c.ranks > 0 ? std::to_string(c.ranks) : "all",
                      std::to_string(c.times), measured ? format_number(c.fastest_us, 4) : "-",
                      format_number(timed->time.in_us(), 4), format_number(floor, 4),
                      measured ? format_number(ratio) : "-", bound_in_short(timed->bound, cluster.topology)});
    if (!measured) continue;
    measured_us += c.median_us * static_cast<double>(c.times);
    floor_us += floor * static_cast<double>(c.times);
  }
  t.note = "fastest: of all equal calls, because a kernel that starts early waits for the other ranks.";
  if (!t.rows.empty()) document.add(t);
  if (floor_us > 0) {
    json["measured_over_floor"] = measured_us / floor_us;
    document.blocks.push_back(
        {Highlight{fmt::format("Kernels took {} us in total, {} times their floors.", format_number(measured_us, 4),
                               format_number(measured_us / floor_us))}});
  }
  if (suspicious)
    document.add(Paragraph{
        "Some are faster than this machine can be: the trace comes from another one, or its sizes are wrong."});
  for (const auto& [why, n] : json["not_timed"].members())
    document.add(Paragraph{fmt::format("Not timed: {}, {} times.", why, n.dump())});
  return {};
}

/// Quoted if it contains a comma, a quote or a line break; empty for null.
std::string cell(const Json& v) {
  if (v.is_null()) return {};
  if (!v.is_string()) return v.dump();
  const std::string& s = v.text();
  if (s.find_first_of(",\"\r\n") == s.npos) return s;
  std::string out = "\"";
  for (const char c : s) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

/// `tables`: the tables found in such a file. One line per size and side (out of place, in place).
std::string perf_csv(const Json& tables) {
  std::string out = "collective,gpus,size_bytes,count,type,op,root,in_place,time_us,algbw_GBps,busbw_GBps,wrong\n";
  for (const Json& t : tables.values())
    for (const Json& r : t["rows"].values())
      for (const bool in_place : {false, true}) {
        const Json& m = r[in_place ? "in_place" : "out_of_place"];
        if (m.is_null()) continue;
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", cell(t["collective"]), cell(t["ranks"]),
                           cell(r["size_bytes"]), cell(r["count"]), cell(r["type"]), cell(r["op"]), cell(r["root"]),
                           in_place ? "yes" : "no", cell(m["time_us"]), cell(m["algbw_GBps"]), cell(m["busbw_GBps"]),
                           cell(m["wrong"]));
      }
  return out;
}

struct ImportFlags {
  CommonOptions common;
  PredictOptions predict;
  std::string file, kind, cluster, groups, first, last, rows;
  double factor = 4;
};

std::string in_words(const Json& value) {
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
    for (const Json& v : list) append_word(out, in_words(v));
    return out.empty() ? "none" : out;
  }
  if (value.is_object()) {
    std::string out;
    for (const auto& [key, v] : value.members()) append_word(out, key + " " + in_words(v));
    return out;
  }
  return value.dump();
}

/// A list of similar maps as a table of their scalar columns.
std::optional<Table> table_of(const std::string& title, const Json& list) {
  constexpr std::size_t kMostRows = 40, kMostColumns = 8;
  if (!list.is_array() || list.empty() || !list.values().front().is_object()) return std::nullopt;
  Table t;
  t.title = title;
  std::vector<std::string> keys;
  for (const Json& row : list.values())
    for (const auto& [key, v] : row.members())
      if (!(v.is_array() && !v.empty() && v.values().front().is_structured()) && keys.size() < kMostColumns &&
          std::find(keys.begin(), keys.end(), key) == keys.end())
        keys.push_back(key);
  for (const std::string& key : keys) t.columns.push_back(to_left(key));
  for (const Json& row : list.values()) {
    if (t.rows.size() == kMostRows) {
      t.note = fmt::format("{} more rows; --json has them all.", list.size() - kMostRows);
      break;
    }
    std::vector<std::string> cells;
    for (const std::string& key : keys) cells.push_back(row.contains(key) ? in_words(row[key]) : "");
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Document to_document(const ImportFlags& o, const ImportReport& report) {
  Document d{fmt::format("{}: {}", o.file, report.kind), o.common.typed, {}};
  Facts facts;
  for (const FormatEntry& f : import_formats())
    if (report.kind == f.kind) facts.items.emplace_back("kind", fmt::format("{} ({})", report.kind, f.summary));
  for (const auto& [key, value] : report.found.members())
    if (key != "matrix" && (!value.is_array() || !table_of(key, value))) facts.items.emplace_back(key, in_words(value));
  facts.items.emplace_back("unknown",
                           report.unknown.empty() ? "nothing" : fmt::format("{} parts", report.unknown.size()));
  d.add(facts);
  for (const auto& [key, value] : report.found.members())
    if (auto table = table_of(key, value)) d.add(std::move(*table));
  for (const std::string& note : report.notes) d.add(Paragraph{"Assumed: " + note + "."});
  if (report.unknown.empty()) return d;
  Table unknown{"Unknown or unused parts", {"line", to_left("what"), "times"}};
  for (const UnknownPart& u : report.unknown)
    unknown.rows.push_back({std::to_string(u.line), u.what, std::to_string(u.count)});
  d.add(unknown);
  return d;
}

/// Adds the ranks of groups from the file of --groups.
Status add_groups(const std::string& file, CommTrace& trace) {
  BUSBAR_ASSIGN(ImportSource source, ImportSource::open(file));
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(const std::vector<CommGroup> groups, read_comm_groups(text, file));
  return assign_groups(groups, file, trace);
}

Error groups_wanted_for(const char* what) {
  return flag_error("--groups", fmt::format("gives the ranks of the groups of a trace, and {}", what));
}

/// Times the content of a file on the machine of --cluster. Returns the exit status.
Result<int> add_times(const ImportFlags& o, const ImportReport& report, Json& j, Document& document) {
  const FormatEntry* format = nullptr;
  for (const FormatEntry& f : import_formats())
    if (report.kind == f.kind) format = &f;
  if (format->schedule == nullptr && format->messages == nullptr && format->trace == nullptr)
    return flag_error("--cluster", fmt::format("a file of kind {} contains nothing that can be timed", report.kind));
  if (!o.groups.empty() && format->trace == nullptr) return groups_wanted_for("this file is not a trace");
  BUSBAR_ASSIGN(Cluster loaded, load_machine(o.cluster, o.common.overrides));
  PredictPolicy policy;
  policy.stop = LongRun::flag();
  BUSBAR_RETURN_IF_ERROR(read_predict_options(o.predict, Catalog(o.common.overrides.catalog), policy));
  BUSBAR_ASSIGN(const auto machine, Predictor::make(std::move(loaded), {}, std::move(policy)));
  const Cluster& cluster = machine->cluster();
  BUSBAR_ASSIGN(ImportSource source, ImportSource::open(o.file));
  if (format->trace != nullptr) {
    BUSBAR_ASSIGN(CommTrace trace, read_trace(*format, source));
    if (!o.groups.empty()) BUSBAR_RETURN_IF_ERROR(add_groups(o.groups, trace));
    BUSBAR_RETURN_IF_ERROR(time_trace(trace, *machine, j["timed"], document));
    return 0;
  }
  if (format->messages != nullptr) {
    BUSBAR_ASSIGN(const ImportedMessages messages, format->messages(source));
    BUSBAR_ASSIGN(const questions::MessagesResult timed, questions::time_messages(messages, *machine));
    j["timed"] = busbar::to_json(timed);
    document.add(messages_facts(timed, cluster.topology));
    return 0;
  }
  BUSBAR_ASSIGN(const ImportedSchedule schedule, load_schedule(o.file));
  const std::uint64_t low = std::max<std::uint64_t>(schedule.min_bytes, 1 << 10);
  const std::uint64_t high = schedule.max_bytes > 0 ? schedule.max_bytes : std::max<std::uint64_t>(low, 1 << 30);
  BUSBAR_ASSIGN(const std::vector<Bytes> sizes, sweep_sizes(o.first.empty() ? std::to_string(low) : o.first,
                                                            o.last.empty() ? std::to_string(high) : o.last, o.factor));
  LongRun watch("sizes");
  BUSBAR_ASSIGN(const std::vector<ScheduleRow> rows, time_schedule(schedule, *machine, sizes, 0, watch.context()));
  watch.report_interruption();
  Json list = Json::array();
  for (const auto& row : questions::schedule_results(schedule, rows, cluster.topology))
    list.push_back(busbar::to_json(row));
  j["timed"] = {{"cluster", cluster.name}, {"results", std::move(list)}};
  document.add(schedule_table(schedule, rows, cluster));
  return watch.status();
}

Status write_csv(const ImportFlags& o, const ImportReport& report) {
  if (!report.found.contains("tables"))
    return flag_error("--out", fmt::format("a file of kind {} contains no rows", report.kind));
  return write_file(o.rows, perf_csv(report.found["tables"]));
}

/// What the doctor reads in a file of no kind: "output of ibstat"; empty: nothing.
Result<std::string> evidence_words(const ImportFlags& o, const std::string& file) {
  BUSBAR_ASSIGN(const FactTables tables, FactTables::load(Catalog(o.common.overrides.catalog)));
  BUSBAR_ASSIGN(const std::vector<std::string> titles, evidence_in(file, tables));
  return comma_list(titles);
}

Json unknown_json(const std::vector<UnknownPart>& unknown) {
  Json out = Json::array();
  for (const UnknownPart& u : unknown) out.push_back({{"line", u.line}, {"what", u.what}, {"count", u.count}});
  return out;
}

/// A file of a set; `what`: in words.
Json file_json(ImportedFile& f, const std::string& what) {
  Json j{{"file", f.name}, {"what", what}, {"kind", f.refused.empty() ? Json(f.report.kind) : Json()}};
  if (!f.refused.empty()) return j;
  j["found"] = std::move(f.report.found);
  j["notes"] = f.report.notes;
  j["unknown"] = unknown_json(f.report.unknown);
  return j;
}

/// A folder or an archive: what each file is, all tables, and NCCL's lines as those of one job.
Result<int> run_set(const ImportFlags& o, ImportSet set) {
  if (!o.cluster.empty()) return flag_error("--cluster", "times one file; name it");
  Json j{{"schema", "busbar.import/1"}, {"file", o.file}, {"kind", "set"}, {"files", Json::array()}};
  Table files{"Files", {to_left("file"), to_left("what it is")}};
  Json tables = Json::array();
  bool any = false;
  for (ImportedFile& f : set.files) {
    std::string what = f.report.kind;
    if (!f.refused.empty()) {
      const Result<std::string> evidence = evidence_words(o, f.name);
      what = evidence.ok() && !evidence->empty() ? *evidence + " (for busbar doctor)" : f.refused;
    }
    any = any || f.refused.empty();
    if (f.report.found.contains("tables"))
      for (const Json& t : f.report.found["tables"].values()) tables.push_back(t);
    files.rows.push_back({f.name, what});
    j["files"].push_back(file_json(f, what));
  }
  if (!any)
    return invalid("holds no file of a known kind: " + files.rows[0][0] + ": " + files.rows[0][1], {o.file, 0, 0, ""});
  if (!o.rows.empty()) BUSBAR_RETURN_IF_ERROR(write_file(o.rows, perf_csv(tables)));
  Document document{fmt::format("{}: {} files", o.file, set.files.size()), o.common.typed, {}};
  document.add(files);
  j["log"] = nullptr;
  if (set.log) {
    const Document log = to_document(o, *set.log);
    document.blocks.insert(document.blocks.end(), log.blocks.begin(), log.blocks.end());
    j["log"] = std::move(set.log->found);
  }
  j["inputs_hash"] = inputs_hash(o.common);
  return deliver(o.common, j, document, 0);
}

/// Why the file is of no kind; where the doctor reads it, that says so.
Error not_imported(const ImportFlags& o, const ImportSource& source, Error why) {
  if (!o.kind.empty() || find_format(source.head()) != nullptr) return why;
  const Result<std::string> evidence = evidence_words(o, o.file);
  if (!evidence.ok() || evidence->empty()) return why;
  return invalid(fmt::format("holds {}, which busbar doctor reads and judges", *evidence), {o.file, 0, 0, ""});
}

Result<int> run(const ImportFlags& o) {
  if (!o.groups.empty() && o.cluster.empty()) return groups_wanted_for("there is no --cluster");
  BUSBAR_ASSIGN(const PartFigures figures, catalog_part_figures(o.common.overrides.catalog));
  BUSBAR_ASSIGN(InputFiles files, InputFiles::open(o.file));
  Result<std::optional<Input>> next = files.next();
  if (files.several()) return run_set(o, import_set(std::move(next), std::move(files), figures, o.kind));
  BUSBAR_ASSIGN(std::optional<Input> only, std::move(next));
  BUSBAR_ASSIGN(ImportSource source, ImportSource::of_input(std::move(*only)));
  Result<ImportReport> read = import_source(source, figures, o.kind);
  if (!read.ok()) return not_imported(o, source, read.error());
  ImportReport report = std::move(*read);
  Document document = to_document(o, report);
  if (!o.rows.empty()) BUSBAR_RETURN_IF_ERROR(write_csv(o, report));
  Json j{{"schema", "busbar.import/1"}, {"file", o.file}, {"kind", report.kind}};
  j["found"] = std::move(report.found);  // moved, because that of a log may be large
  j["notes"] = report.notes;
  j["unknown"] = unknown_json(report.unknown);
  j["inputs_hash"] = inputs_hash(o.common);
  int status = report.refuted ? 1 : 0;
  if (!o.cluster.empty() && !report.refuted) {
    BUSBAR_ASSIGN(status, add_times(o, report, j, document));
  }
  return deliver(o.common, j, document, status);
}

}  // namespace

Command import_command(const std::string& typed) {
  const auto o = std::make_shared<ImportFlags>();
  Command c = new_command(o->common, typed, "import", "identify a file of another program and show its content");
  c.examples =
      "  busbar import examples/logs/nccl-2x8-h100.log\n"
      "  busbar import result_0.txt --kind nccl-log --json\n"
      "  busbar import topo-m.txt && busbar topo topo-m.txt --tree\n"
      "  busbar import allreduce.xml --cluster dgx-h100 -b 1M -e 1G\n";
  c.positionals = {{"FILE",
                    "NCCL topology or graph XML, NCCL_DEBUG=INFO log, nccl-tests output or JSON, nvidia-smi topo -m, "
                    "rocm-smi --showtopo, hwloc XML, ibnetdiscover, iblinkinfo, Slurm topology.conf, MSCCL XML, "
                    "MSCCL++ plan, GOAL, Chakra trace, Kineto trace; or a folder or an archive of such files",
                    &o->file},
                   cluster_word(o->cluster, false)};
  c.flags = {
      {"--kind", "NAME", "read the file as this kind, e.g. nccl-log, instead of detecting it", "Input", &o->kind},
      {"--out,--rows", "FILE", "write the rows of nccl-tests or rccl-tests as CSV", "Files", &o->rows},
      {"--cluster", "CLUSTER", "time the schedule, messages or collectives of the file on this machine", "Timing",
       &o->cluster},
      {"--groups", "FILE", "ranks of the groups named in a trace, as JSON: {\"1\": [0, 1, 2, 3]}", "Timing",
       &o->groups},
      with("--cluster", {"-b,--minbytes", "SIZE", "smallest size S (default: from the file)", "Timing", &o->first}),
      with("--cluster", {"-e,--maxbytes", "SIZE", "largest size (default: from the file)", "Timing", &o->last}),
      with("--cluster", {"-f,--stepfactor", "X", "factor between sizes (default 4)", "Timing", &o->factor}),
  };
  for (Flag& f : predict_flags(o->predict, "as the machine's file says")) {
    f.needs = "--cluster";
    c.flags.push_back(std::move(f));
  }
  add_common_flags(c, o->common, Engines::kNone, false);
  for (Flag& f : c.flags)
    if (f.category == "Machine" && f.names != "--catalog") f.needs = "--cluster";
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
