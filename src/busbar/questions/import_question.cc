#include "busbar/questions/import_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/base/text.h"
#include "busbar/doctor/doctor.h"
#include "busbar/formats/comm_groups.h"
#include "busbar/formats/import.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/predict_request.h"
#include "busbar/questions/sweep.h"
#include "busbar/step/machine.h"

namespace busbar::formats {

const Record& record_of(const UnknownPart*) {
  static const Record record("part", {{"line", &UnknownPart::line, "", "of its first occurrence, from 1"},
                                      {"what", &UnknownPart::what, "", "such as: attribute nic.foo"},
                                      {"count", &UnknownPart::count, "", "how often it occurs"}});
  return record;
}

}  // namespace busbar::formats

namespace busbar::questions {

namespace {

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

/// Adds the ranks of groups from the file of --groups.
Status read_groups_into(const std::string& file, formats::CommTrace& trace) {
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(file));
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(const std::vector<formats::CommGroup> groups, formats::read_comm_groups(text, file));
  return formats::assign_groups(groups, file, trace);
}

Error groups_wanted_for(const char* what) {
  return invalid(fmt::format("gives the ranks of the groups of a trace, and {}", what), field_of("groups"));
}

Status add_rows_file(const ImportRequest& q, const Json& found, const std::string& kind,
                     std::vector<OutputFile>& files) {
  if (q.rows.empty()) return {};
  if (!found.contains("tables"))
    return invalid(fmt::format("a file of kind {} contains no rows", kind), {"", 0, 0, "--out"});
  files.push_back({q.rows, perf_csv(found["tables"])});
  return {};
}

/// What the doctor reads in a file of no kind: "output of ibstat"; empty: nothing.
Result<std::string> evidence_words(const ImportRequest& q, const std::string& file) {
  BUSBAR_ASSIGN(const doctor::FactTables tables, doctor::FactTables::load(spec::Catalog(q.machine.catalog)));
  BUSBAR_ASSIGN(const std::vector<std::string> titles, doctor::evidence_in(file, tables));
  return comma_list(titles);
}

ImportResult result_of(std::string file, formats::ImportReport report) {
  ImportResult out;
  out.file = std::move(file);
  out.kind = std::move(report.kind);
  out.found = std::move(report.found);  // moved, because that of a log may be large
  out.notes = std::move(report.notes);
  out.unknown = std::move(report.unknown);
  out.exit_status = report.refuted ? 1 : 0;
  return out;
}

ImportSetFile set_file(const ImportRequest& q, formats::ImportedFile f) {
  ImportSetFile out{f.name, f.report.kind, {}, {}, {}, {}};
  if (!f.refused.empty()) {
    const Result<std::string> evidence = evidence_words(q, f.name);
    out.what = evidence.ok() && !evidence->empty() ? *evidence + " (for busbar doctor)" : f.refused;
    return out;
  }
  out.kind = std::move(f.report.kind);
  out.found = std::move(f.report.found);
  out.notes = std::move(f.report.notes);
  out.unknown = std::move(f.report.unknown);
  return out;
}

/// A folder or an archive: what each file is, all tables, and NCCL's lines as those of one job.
Result<ImportSetResult> import_all(const ImportRequest& q, formats::ImportSet set) {
  if (!q.cluster.empty()) return invalid("times one file; name it", field_of("cluster"));
  ImportSetResult r;
  r.file = q.file;
  Json tables = Json::array();
  bool any = false;
  for (formats::ImportedFile& f : set.files) {
    any = any || f.refused.empty();
    const ImportSetFile& one = r.members.emplace_back(set_file(q, std::move(f)));
    if (one.found && one.found->contains("tables"))
      for (const Json& t : (*one.found)["tables"].values()) tables.push_back(t);
  }
  if (!any)
    return invalid("holds no file of a known kind: " + r.members[0].file + ": " + r.members[0].what,
                   {q.file, 0, 0, ""});
  if (!q.rows.empty()) r.files.push_back({q.rows, perf_csv(tables)});
  if (set.log) {
    r.job = result_of(q.file, std::move(*set.log));
    r.log = r.job->found;
  }
  r.inputs_hash = inputs_hash("import", q, {});
  return r;
}

/// Why the file is of no kind; where the doctor reads it, that says so.
Error not_imported(const ImportRequest& q, const formats::ImportSource& source, Error why) {
  if (!q.kind.empty() || formats::find_format(source.head()) != nullptr) return why;
  const Result<std::string> evidence = evidence_words(q, q.file);
  if (!evidence.ok() || evidence->empty()) return why;
  return invalid(fmt::format("holds {}, which busbar doctor reads and judges", *evidence), {q.file, 0, 0, ""});
}

Result<std::shared_ptr<predict::Predictor>> machine_of(const ImportRequest& q, const Context& context) {
  BUSBAR_ASSIGN(spec::Cluster loaded, step::load_machine(q.cluster, q.machine));
  predict::PredictPolicy policy;
  policy.stop = context.stop;
  BUSBAR_RETURN_IF_ERROR(predict::read_predict_options(q.predict, spec::Catalog(q.machine.catalog), policy));
  BUSBAR_ASSIGN(auto machine, predict::Predictor::make(std::move(loaded), {}, std::move(policy)));
  return std::shared_ptr<predict::Predictor>(std::move(machine));
}

Result<ScheduleTimes> times_of_schedule(const ImportRequest& q, predict::Predictor& machine, const Context& context) {
  BUSBAR_ASSIGN(formats::ImportedSchedule schedule, load_schedule(q.file));
  const std::uint64_t low = std::max<std::uint64_t>(schedule.min_bytes, 1 << 10);
  const std::uint64_t high = schedule.max_bytes > 0 ? schedule.max_bytes : std::max<std::uint64_t>(low, 1 << 30);
  BUSBAR_ASSIGN(const std::vector<Bytes> sizes,
                sweep_sizes(q.min_bytes.empty() ? std::to_string(low) : q.min_bytes,
                            q.max_bytes.empty() ? std::to_string(high) : q.max_bytes, q.step_factor));
  ScheduleTimes out;
  out.cluster = machine.cluster().name;
  BUSBAR_ASSIGN(out.rows, time_schedule(schedule, machine, sizes, 0, context));
  out.results = schedule_results(schedule, out.rows, machine.cluster().topology);
  out.schedule = std::make_shared<const formats::ImportedSchedule>(std::move(schedule));
  return out;
}

template <typename Times>
ImportAnswer with_times(ImportResult import, Times times, std::shared_ptr<const predict::Predictor> machine) {
  TimedImport<Times> out;
  out.files = std::move(import.files);
  out.import = std::move(import);
  out.timed = std::move(times);
  out.machine = std::move(machine);
  return out;
}

Result<TraceTimes> times_of_trace(const ImportRequest& q, const formats::FormatEntry& format,
                                  formats::ImportSource& source, predict::Predictor& machine) {
  BUSBAR_ASSIGN(formats::CommTrace trace, formats::read_trace(format, source));
  if (!q.groups.empty()) BUSBAR_RETURN_IF_ERROR(read_groups_into(q.groups, trace));
  return time_trace(trace, machine);
}

/// The content of a file on the machine.
Result<ImportAnswer> add_times(const ImportRequest& q, ImportResult import, const Context& context) {
  const formats::FormatEntry* format = nullptr;
  for (const formats::FormatEntry& f : formats::import_formats())
    if (import.kind == f.kind) format = &f;
  if (format->schedule == nullptr && format->messages == nullptr && format->trace == nullptr)
    return invalid(fmt::format("a file of kind {} contains nothing that can be timed", import.kind),
                   field_of("cluster"));
  if (!q.groups.empty() && format->trace == nullptr) return groups_wanted_for("this file is not a trace");
  BUSBAR_ASSIGN(const std::shared_ptr<predict::Predictor> machine, machine_of(q, context));
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(q.file));
  if (format->trace != nullptr) {
    BUSBAR_ASSIGN(TraceTimes times, times_of_trace(q, *format, source, *machine));
    return with_times(std::move(import), std::move(times), machine);
  }
  if (format->messages != nullptr) {
    BUSBAR_ASSIGN(const formats::ImportedMessages messages, format->messages(source));
    BUSBAR_ASSIGN(MessagesResult times, time_messages(messages, *machine));
    return with_times(std::move(import), std::move(times), machine);
  }
  BUSBAR_ASSIGN(ScheduleTimes times, times_of_schedule(q, *machine, context));
  return with_times(std::move(import), std::move(times), machine);
}

}  // namespace

Result<ImportAnswer> answer(const ImportRequest& q, const Context& context) {
  if (!q.groups.empty() && q.cluster.empty()) return groups_wanted_for("there is no --cluster");
  BUSBAR_ASSIGN(const topology::PartFigures figures, step::catalog_part_figures(q.machine.catalog));
  BUSBAR_ASSIGN(InputFiles files, InputFiles::open(q.file));
  Result<std::optional<Input>> next = files.next();
  if (files.several()) {
    BUSBAR_ASSIGN(ImportSetResult set,
                  import_all(q, formats::import_set(std::move(next), std::move(files), figures, q.kind)));
    return ImportAnswer(std::move(set));
  }
  BUSBAR_ASSIGN(std::optional<Input> only, std::move(next));
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::of_input(std::move(*only)));
  Result<formats::ImportReport> read = formats::import_source(source, figures, q.kind);
  if (!read.ok()) return not_imported(q, source, read.error());
  ImportResult r = result_of(q.file, std::move(*read));
  BUSBAR_RETURN_IF_ERROR(add_rows_file(q, r.found, r.kind, r.files));
  r.inputs_hash = inputs_hash("import", q, {});
  if (q.cluster.empty() || r.exit_status != 0) return ImportAnswer(std::move(r));
  return add_times(q, std::move(r), context);
}

namespace {

Field timing_field(Field f, const char* value) { return std::move(f).of("Timing").takes(value); }

Field machine_to_time_on() {
  Field f = cluster_field(&ImportRequest::cluster, false);
  f.meaning = "time the schedule, messages or collectives of the file on this machine";
  f.category = "Timing";
  return f;
}

/// Fields without effect where nothing is timed.
std::vector<Field> with_machine(std::vector<Field> fields) {
  for (Field& f : fields)
    if (f.name != "catalog") f.needs = "cluster";
  return fields;
}

}  // namespace

const Record& record_of(const ImportRequest*) {
  using Q = ImportRequest;
  static const Record record(
      "import request",
      joined(
          {{Field("file", &Q::file, "",
                  "NCCL topology or graph XML, NCCL_DEBUG=INFO log, nccl-tests output or JSON, nvidia-smi topo -m, "
                  "rocm-smi --showtopo, hwloc XML, ibnetdiscover, iblinkinfo, Slurm topology.conf, MSCCL XML, "
                  "MSCCL++ plan, GOAL, Chakra trace, Kineto trace; or a folder or an archive of such files")
                .takes("FILE")
                .as_word(),
            Field("kind", &Q::kind, "", "read the file as this kind, e.g. nccl-log, instead of detecting it")
                .takes("NAME")
                .of("Input"),
            Field("rows", &Q::rows, "", "write the rows of nccl-tests or rccl-tests as CSV")
                .spelled("--out,--rows")
                .takes("FILE")
                .of("Files")
                .undecided(),
            machine_to_time_on(),
            timing_field(
                {"groups", &Q::groups, "", "ranks of the groups named in a trace, as JSON: {\"1\": [0, 1, 2, 3]}"},
                "FILE")},
           with_machine({timing_field(Field("min_bytes", &Q::min_bytes, "", "smallest size S (default: from the file)")
                                          .spelled("-b,--minbytes"),
                                      "SIZE"),
                         timing_field(Field("max_bytes", &Q::max_bytes, "", "largest size (default: from the file)")
                                          .spelled("-e,--maxbytes"),
                                      "SIZE"),
                         timing_field(Field("step_factor", &Q::step_factor, "", "factor between sizes (default 4)")
                                          .spelled("-f,--stepfactor"),
                                      "X")}),
           with_machine(predict_fields(&Q::predict, "as the machine's file says")),
           with_machine(fields_inside(&Q::machine))}));
  return record;
}

const Record& record_of(const ImportResult*) {
  using R = ImportResult;
  static const Record record("import",
                             {{"file", &R::file, "", "as named"},
                              {"kind", &R::kind, "", "nccl-topology, nccl-log, ..."},
                              {"found", &R::found, "", "the content, which depends on the kind"},
                              {"notes", &R::notes, "", "what was assumed"},
                              {"unknown", &R::unknown, "", "parts that are unknown or unused"},
                              {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

const Record& record_of(const ScheduleTimes*) {
  static const Record record("times of a schedule", {{"cluster", &ScheduleTimes::cluster, "", "name of the machine"},
                                                     {"results", &ScheduleTimes::results, "", "one row per size"}});
  return record;
}

const Record& record_of(const ImportSetFile*) {
  using F = ImportSetFile;
  static const Record record("file", {{"file", &F::file, "", "its name"},
                                      {"what", &F::what, "", "what it is, or why it is of no kind"},
                                      {"kind", &F::kind, "", "null: of no kind"},
                                      Field("found", &F::found, "", "the content").or_absent(),
                                      Field("notes", &F::notes, "", "what was assumed").or_absent(),
                                      Field("unknown", &F::unknown, "", "parts that are unknown").or_absent()});
  return record;
}

const Record& record_of(const ImportSetResult*) {
  using R = ImportSetResult;
  static const Record record("set", {{"file", &R::file, "", "the folder or archive"},
                                     {"kind", &R::kind, "", "set"},
                                     {"files", &R::members, "", "in it"},
                                     {"log", &R::log, "", "NCCL's lines in all files, as one job; null: none"},
                                     {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

Question import_question() {
  return make_question<ImportRequest, ImportAnswer>("import", "identify a file of another program and show its content",
                                                    "  busbar import examples/logs/nccl-2x8-h100.log\n"
                                                    "  busbar import result_0.txt --kind nccl-log --json\n"
                                                    "  busbar import topo-m.txt && busbar topo topo-m.txt --tree\n"
                                                    "  busbar import allreduce.xml --cluster dgx-h100 -b 1M -e 1G\n",
                                                    110);
}

}  // namespace busbar::questions
