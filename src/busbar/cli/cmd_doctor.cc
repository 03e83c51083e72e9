#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "busbar/base/input.h"
#include "busbar/base/json.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/doctor_inputs.h"
#include "busbar/cli/doctor_report.h"
#include "busbar/cli/doctor_tables.h"
#include "busbar/cli/log_report.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/session.h"
#include "busbar/doctor/compare_bundles.h"
#include "busbar/doctor/cost.h"
#include "busbar/doctor/described_machine.h"
#include "busbar/doctor/diagnose.h"
#include "busbar/doctor/doctor.h"
#include "busbar/doctor/log_against_machine.h"
#include "busbar/formats/import.h"
#include "busbar/formats/lines.h"
#include "busbar/host/describe_host.h"
#include "busbar/step/machine.h"

namespace busbar {
namespace {

struct DoctorFlags {
  CommonOptions common;
  std::string first;
  std::vector<std::string> more;
  std::string fail_on = "fail", cluster, op;
  DoctorInputs inputs;
};

/// Whether a finding is at least as severe as --fail-on.
bool fails(const Diagnosis& d, const std::string& fail_on) {
  for (const Finding& f : d.findings)
    if (fail_on != "never" && (fail_on == name_of(f.severity) || f.severity == Severity::kFail ||
                               (fail_on == "note" && f.severity == Severity::kWarn)))
      return true;
  return false;
}

/// `first`: the first input.
Status check_read(const Evidence& evidence, const std::string& first) {
  if (evidence.files().empty()) return invalid("no file is in it", {first, 0, 0, ""});
  std::uint64_t stated = 0, lines = 0;
  for (const EvidenceFile& f : evidence.files()) stated += f.stated, lines += f.lines;
  if (stated > 0) return {};
  for (const EvidenceFile& f : evidence.files())
    if (!f.stopped.empty()) return invalid(f.stopped, {f.name, 0, 0, ""});
  if (lines == 0) return invalid("is empty", {evidence.files().front().name, 0, 0, ""});
  return invalid(
      "no rule reads any of its lines; give a log of NCCL, or what nvidia-smi, ibstat, lspci or another tool in "
      "docs/doctor.md prints",
      {evidence.files().front().name, 0, 0, ""});
}

/// Without this check, "nothing wrong" would stand where nothing was looked at.
Status check_judged(const Diagnosis& found, const Evidence& evidence) {
  if (!found.findings.empty() || !found.ok.empty()) return {};
  std::uint64_t stated = 0;
  for (const EvidenceFile& f : evidence.files()) stated += f.stated;
  return invalid(fmt::format("{} of its lines {} known, but no rule can be judged by them alone; give also {}", stated,
                             stated == 1 ? "is" : "are", found.unknown.front().ask),
                 {evidence.files().front().name, 0, 0, ""});
}

/// Pre: `machine` is not empty.
Result<FaultCostOptions> cost_options(const DoctorFlags& o, const std::string& machine) {
  FaultCostOptions cost;
  cost.machine.cluster = machine;
  cost.machine.load = load_machine;
  cost.machine.overrides = o.common.overrides;
  cost.machine.engine = o.common.engine;
  cost.machine.policy.stop = LongRun::flag();
  cost.op_asked = !o.op.empty();
  if (cost.op_asked) {
    const Result<Collective> op = parse_collective(o.op);
    if (!op.ok()) return flag_error("--collective", op.error().message);
    cost.machine.op = *op;
  }
  return cost;
}

/// Compares every log of NCCL among the files with the machine.
Result<std::vector<LogComparison>> compare_logs(const Evidence& evidence, const ExpectOptions& machine) {
  std::vector<LogComparison> out;
  for (const EvidenceFile& f : evidence.files()) {
    if (std::find(f.kinds.begin(), f.kinds.end(), "nccl-log") == f.kinds.end()) continue;
    const Result<ImportSource> source = ImportSource::open(f.name);
    if (f.name == "-" || !source.ok()) {  // standard input, or a file of an archive
      LogComparison again;
      again.file = f.name;
      again.refused = "it can be read only once here, so give the log as a file";
      out.push_back(std::move(again));
      continue;
    }
    BUSBAR_ASSIGN(LineSource lines, source->lines());
    const Result<NcclLog> log = read_nccl_log(lines);
    if (!log.ok()) continue;
    BUSBAR_ASSIGN(LogComparison comparison, compare_log(*log, f.name, machine));
    out.push_back(std::move(comparison));
  }
  return out;
}

/// Adds what the picks of the log say to the evidence.
void read_picks(const LogComparison& c, const FactTables& tables, Evidence& evidence) {
  const std::string text = describe_picks(c);
  if (text.empty()) return;
  LineSource lines = LineSource::of_text(text, "picks of " + c.file);
  tables.read(lines, evidence);
}

/// The machine that the only word names, or why it names none; nothing if the words are files. A folder without a slash
/// hides no machine.
std::optional<Result<Cluster>> named_machine(const std::vector<std::string>& words, const Overrides& overrides) {
  if (words.size() != 1 || words[0] == "-" || names_input(words[0])) return std::nullopt;
  Result<Cluster> machine = load_machine(words[0], overrides);
  std::error_code unknown;
  if (!machine.ok() && std::filesystem::is_directory(words[0], unknown)) return std::nullopt;
  return machine;
}

/// 0, or the exit status after a signal that ended the reading early.
Result<int> read_files(const std::vector<std::string>& files, const FactTables& tables, Evidence& evidence) {
  const LongRun watch("files");
  for (const std::string& file : files)
    if (!watch.interrupted()) BUSBAR_RETURN_IF_ERROR(read_evidence(file, tables, evidence, LongRun::flag()));
  return watch.status();
}

/// What the lines before a signal say, without costs, tables and bundle.
Result<int> report_part(const DoctorFlags& o, const Diagnosis& found, const Evidence& evidence, int status) {
  Json j = to_json(found, evidence);
  j["inputs_hash"] = inputs_hash(o.common, "");
  return deliver(o.common, j, to_document(found, evidence, o.common.typed, {}, ""), status);
}

Status refuse_flags_of_a_machine(const DoctorFlags& o) {
  const Overrides& given = o.common.overrides;
  const std::pair<const char*, bool> flags[] = {{"--collective", !o.op.empty()},
                                                {"--set", !given.set.empty()},
                                                {"--degrade", !given.degrade.empty()},
                                                {"--fail", !given.fail.empty()},
                                                {"--nodes", given.nodes > 0},
                                                {"--gpu", !given.gpu.empty()},
                                                {"--gpu-memory-rate", !given.gpu_memory_rate.empty()}};
  for (const auto& [flag, is_given] : flags)
    if (is_given) return flag_error(flag, "needs a machine; add --cluster dgx-h100:2, or a file");
  return {};
}

Result<int> run(const DoctorFlags& o) {
  const Catalog catalog(o.common.overrides.catalog);
  BUSBAR_ASSIGN(const FactTables tables, FactTables::load(catalog));
  BUSBAR_ASSIGN(const std::vector<Rule> rules, load_rules(catalog));
  std::vector<std::string> words;
  if (!o.first.empty()) words.push_back(o.first);
  words.insert(words.end(), o.more.begin(), o.more.end());
  Evidence evidence;
  std::string machine = o.cluster;
  std::vector<std::string> files;
  BUSBAR_RETURN_IF_ERROR(read_live(o.inputs, tables, evidence));
  if (words.empty()) {
    if (!o.inputs.live) return flag_error("FILE", "name a file, a folder or a machine (dgx-h100:4), or add --live");
  } else if (const std::optional<Result<Cluster>> named = named_machine(words, o.common.overrides)) {
    BUSBAR_ASSIGN(const Cluster cluster, *named);
    const std::string text = describe_machine(cluster);
    LineSource lines = LineSource::of_text(text, words[0]);
    tables.read(lines, evidence);
    if (!machine.empty()) return flag_error("--cluster", "the machine is named twice; leave it out");
    machine = words[0];
  } else {
    files = words;
    BUSBAR_ASSIGN(const int ended, read_files(files, tables, evidence));
    if (ended != 0) return report_part(o, diagnose(evidence, rules, tables), evidence, ended);
  }
  BUSBAR_RETURN_IF_ERROR(write_bundle(o.inputs, files, evidence, tables));
  BUSBAR_RETURN_IF_ERROR(check_read(evidence, o.first));
  if (machine.empty() && evidence.named("table.header").empty()) BUSBAR_RETURN_IF_ERROR(refuse_flags_of_a_machine(o));
  FaultCostOptions cost;
  std::vector<LogComparison> compared;
  if (!machine.empty()) {
    BUSBAR_ASSIGN(cost, cost_options(o, machine));
    BUSBAR_ASSIGN(compared, compare_logs(evidence, cost.machine));
  }
  for (const LogComparison& c : compared) read_picks(c, tables, evidence);
  Diagnosis found = diagnose(evidence, rules, tables);
  const std::vector<Finding> odd = compare_bundles(evidence);
  const auto place = std::find_if(found.findings.begin(), found.findings.end(),
                                  [](const Finding& f) { return f.severity != Severity::kFail; });
  found.findings.insert(place, odd.begin(), odd.end());
  BUSBAR_ASSIGN(const std::vector<JudgedTable> judged, judge_tables(evidence, o.common, machine, o.op));
  if (judged.empty() && compared.empty()) BUSBAR_RETURN_IF_ERROR(check_judged(found, evidence));
  std::string machine_text;
  if (!machine.empty()) {
    BUSBAR_ASSIGN(machine_text, add_costs(cost, found));
  }
  Json j = to_json(found, evidence);
  j["logs_against_machine"] = Json::array();
  for (const LogComparison& c : compared) j["logs_against_machine"].push_back(to_json(c));
  j["tables"] = Json::array();
  for (const JudgedTable& t : judged) j["tables"].push_back(to_json(t));
  j["bundle"] = o.inputs.bundle.empty() ? Json(nullptr) : Json(o.inputs.bundle);
  j["inputs_hash"] = inputs_hash(o.common, machine_text);
  Document document = to_document(found, evidence, o.common.typed, compared, machine);
  add_tables(document, judged);
  if (!o.inputs.bundle.empty())
    document.add(Paragraph{fmt::format(
        "{} is written. Names that no line marks as those of hosts or users are still in it: look before you send it.",
        o.inputs.bundle)});
  const bool low = o.fail_on != "never" && std::any_of(judged.begin(), judged.end(), table_fails);
  return deliver(o.common, j, document, low || fails(found, o.fail_on) ? 1 : 0);
}

}  // namespace

Command doctor_command(const std::string& typed) {
  const auto o = std::make_shared<DoctorFlags>();
  Command c = new_command(o->common, typed, "doctor",
                          "find what is wrong with a machine from logs and outputs of tools, with evidence and fix");
  c.examples =
      "  busbar doctor examples/logs/nccl-2x8-h100.log\n"
      "  busbar doctor nccl.log topo-m.txt ibstat.txt env.txt --json\n"
      "  busbar doctor collected/ --fail-on warn\n"
      "  busbar doctor --live\n"
      "  busbar doctor --live nccl.log --bundle case.tar.gz\n"
      "  busbar doctor node1.tar.gz node2.tar.gz node3.tar.gz\n"
      "  busbar doctor nccl.log --cluster dgx-h100:2\n"
      "  busbar doctor dgx-h100:64 --set fabric.oversubscription=2\n";
  c.positionals = {
      {"FILE", "logs, outputs of tools (in any mixture), or a folder of them; or the name of a machine (dgx-h100:4)",
       &o->first, false, &o->more}};
  c.flags = {
      {"--live", "", "read this host: /sys, /proc, the environment and NVIDIA's library; changes nothing", "Inputs",
       &o->inputs.live},
      with("--live", {"--root", "DIR", "read copies of the folders sys and proc below DIR instead of this host",
                      "Inputs", &o->inputs.root}),
      {"--bundle", "FILE",
       "write the inputs (and this host with --live) to an archive (.tar, .tar.gz) without names, to send", "Files",
       &o->inputs.bundle},
      {"--fail-on", "SEVERITY", "exit with 1 if a finding is at least this severe: fail (default), warn, note or never",
       "Findings", &o->fail_on, one_of("fail", "warn", "note", "never")},
      {"--cluster", "CLUSTER",
       "the machine of the logs, to predict what each finding costs and to compare logs of NCCL with it", "Machine",
       &o->cluster},
      {"--collective", "OP", "the collective whose cost is predicted (default: that of the rule, or all_reduce)",
       "Machine", &o->op}};
  add_common_flags(c, o->common, Engines::kNone, false);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
