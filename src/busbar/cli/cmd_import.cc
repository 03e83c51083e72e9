#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/machine.h"
#include "busbar/cli/perf_csv.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/schedule_run.h"
#include "busbar/cli/session.h"
#include "busbar/cli/sweep.h"
#include "busbar/cli/trace_timing.h"
#include "busbar/formats/comm_groups.h"
#include "busbar/formats/import.h"

namespace busbar {
namespace {

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
    BUSBAR_RETURN_IF_ERROR(time_messages(messages, *machine, j["timed"], document));
    return 0;
  }
  BUSBAR_ASSIGN(const ImportedSchedule schedule, load_schedule(o.file));
  const std::uint64_t low = std::max<std::uint64_t>(schedule.min_bytes, 1 << 10);
  const std::uint64_t high = schedule.max_bytes > 0 ? schedule.max_bytes : std::max<std::uint64_t>(low, 1 << 30);
  BUSBAR_ASSIGN(const std::vector<Bytes> sizes, sweep_sizes(o.first.empty() ? std::to_string(low) : o.first,
                                                            o.last.empty() ? std::to_string(high) : o.last, o.factor));
  LongRun watch("sizes");
  BUSBAR_ASSIGN(const std::vector<ScheduleRow> rows, time_schedule(schedule, *machine, sizes, 0, watch));
  j["timed"] = {{"cluster", cluster.name}, {"results", schedule_json(schedule, rows, cluster)}};
  document.add(schedule_table(schedule, rows, cluster));
  return watch.status();
}

Status write_csv(const ImportFlags& o, const ImportReport& report) {
  if (!report.found.contains("tables"))
    return flag_error("--out", fmt::format("a file of kind {} contains no rows", report.kind));
  return write_file(o.rows, perf_csv(report.found["tables"]));
}

Result<int> run(const ImportFlags& o) {
  if (!o.groups.empty() && o.cluster.empty()) return groups_wanted_for("there is no --cluster");
  BUSBAR_ASSIGN(ImportSource source, ImportSource::open(o.file));
  BUSBAR_ASSIGN(const PartFigures figures, catalog_part_figures(o.common.overrides.catalog));
  BUSBAR_ASSIGN(ImportReport report, import_source(source, figures, o.kind));
  Document document = to_document(o, report);
  if (!o.rows.empty()) BUSBAR_RETURN_IF_ERROR(write_csv(o, report));
  Json j{{"schema", "busbar.import/1"}, {"file", o.file}, {"kind", report.kind}};
  j["found"] = std::move(report.found);  // moved, because that of a log may be large
  j["notes"] = report.notes;
  j["unknown"] = Json::array();
  for (const UnknownPart& u : report.unknown)
    j["unknown"].push_back({{"line", u.line}, {"what", u.what}, {"count", u.count}});
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
      "  busbar import nccl-topo.xml\n"
      "  busbar import result_0.txt --kind nccl-log --json\n"
      "  busbar import topo-m.txt && busbar topo topo-m.txt --tree\n"
      "  busbar import allreduce.xml --cluster dgx-h100 -b 1M -e 1G\n";
  c.positionals = {{"FILE",
                    "NCCL topology or graph XML, NCCL_DEBUG=INFO log, nccl-tests output or JSON, nvidia-smi topo -m, "
                    "rocm-smi --showtopo, hwloc XML, ibnetdiscover, iblinkinfo, Slurm topology.conf, MSCCL XML, "
                    "MSCCL++ plan, GOAL, Chakra trace, Kineto trace",
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
