#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "busbar/base/input.h"
#include "busbar/base/json.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/doctor_report.h"
#include "busbar/cli/log_report.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/machine.h"
#include "busbar/cli/session.h"
#include "busbar/doctor/cost.h"
#include "busbar/doctor/described_machine.h"
#include "busbar/doctor/diagnose.h"
#include "busbar/doctor/doctor.h"
#include "busbar/host/describe_host.h"
#include "busbar/doctor/log_against_machine.h"
#include "busbar/formats/import.h"
#include "busbar/formats/lines.h"

namespace busbar {
namespace {

struct DoctorFlags {
  CommonOptions common;
  std::string first;
  std::vector<std::string> more;
  std::string fail_on = "fail", cluster, op, root = "/";
  bool live = false;
};

/// Whether a finding is at least as severe as --fail-on.
bool fails(const Diagnosis& d, const std::string& fail_on) {
  for (const Finding& f : d.findings)
    if (fail_on != "never" && (fail_on == name_of(f.severity) || f.severity == Severity::kFail ||
                               (fail_on == "note" && f.severity == Severity::kWarn)))
      return true;
  return false;
}

Status check_read(const Evidence& evidence, const FactTables& tables) {
  std::string kinds;
  for (const FactTable& t : tables.tables()) kinds += (kinds.empty() ? "" : ", ") + t.title;
  std::uint64_t stated = 0, lines = 0;
  for (const EvidenceFile& f : evidence.files()) stated += f.stated, lines += f.lines;
  if (stated > 0) return {};
  return invalid(fmt::format("none of {} lines says anything that a rule reads; known are {}", lines, kinds),
                 {evidence.files().front().name, 0, 0, ""});
}

/// Adds what this host says about itself, with --live.
Status read_live(const DoctorFlags& o, const FactTables& tables, Evidence& evidence) {
  if (!o.live) return {};
  const HostFiles files(o.root);
  if (!files.exists("/sys") || !files.exists("/proc"))
    return invalid("needs a folder that holds the folders sys and proc of a host", {o.root, 0, 0, "--root"});
  const std::string text = describe_host(files);
  LineSource lines = LineSource::of_text(text, files.is_this_host() ? "this host" : o.root);
  tables.read(lines, evidence);
  return {};
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
    BUSBAR_ASSIGN(cost.machine.op, parse_collective(o.op));
  }
  return cost;
}

/// Compares every log of NCCL among the files with the machine.
Result<std::vector<LogComparison>> compare_logs(const Evidence& evidence, const ExpectOptions& machine) {
  std::vector<LogComparison> out;
  for (const EvidenceFile& f : evidence.files()) {
    if (std::find(f.kinds.begin(), f.kinds.end(), "nccl-log") == f.kinds.end()) continue;
    if (f.name == "-") {
      LogComparison again;
      again.file = f.name;
      again.refused = "standard input can be read only once, so give the log as a file";
      out.push_back(std::move(again));
      continue;
    }
    BUSBAR_ASSIGN(const ImportSource source, ImportSource::open(f.name));
    BUSBAR_ASSIGN(LineSource lines, source.lines());
    const Result<NcclLog> log = read_nccl_log(lines);
    if (!log.ok()) continue;
    BUSBAR_ASSIGN(LogComparison comparison, compare_log(*log, f.name, machine));
    out.push_back(std::move(comparison));
  }
  return out;
}

Result<int> run(const DoctorFlags& o) {
  const RunClock clock;
  const Catalog catalog(o.common.overrides.catalog);
  BUSBAR_ASSIGN(const FactTables tables, FactTables::load(catalog));
  BUSBAR_ASSIGN(const std::vector<Rule> rules, load_rules(catalog));
  std::vector<std::string> words;
  if (!o.first.empty()) words.push_back(o.first);
  words.insert(words.end(), o.more.begin(), o.more.end());
  Evidence evidence;
  std::string machine = o.cluster;
  BUSBAR_RETURN_IF_ERROR(read_live(o, tables, evidence));
  if (words.empty()) {
    if (!o.live) return invalid("name a file, a folder or a machine (dgx-h100:4), or add --live", {"", 0, 0, "FILE"});
  } else if (words.size() == 1 && !names_input(words[0]) && words[0] != "-") {
    BUSBAR_ASSIGN(const Cluster cluster, load_machine(words[0], o.common.overrides));
    const std::string text = describe_machine(cluster);
    LineSource lines = LineSource::of_text(text, words[0]);
    tables.read(lines, evidence);
    if (!machine.empty()) return invalid("the machine is named twice; leave it out", {"", 0, 0, "--cluster"});
    machine = words[0];
  } else {
    BUSBAR_ASSIGN(const std::vector<std::string> files, evidence_files(words));
    for (const std::string& file : files) BUSBAR_RETURN_IF_ERROR(read_evidence(file, tables, evidence));
  }
  BUSBAR_RETURN_IF_ERROR(check_read(evidence, tables));
  if (machine.empty() && !o.op.empty())
    return invalid("needs a machine; add --cluster dgx-h100:2, or a file", {"", 0, 0, "--collective"});
  Diagnosis found = diagnose(evidence, rules, tables);
  std::string machine_text;
  std::vector<LogComparison> compared;
  if (!machine.empty()) {
    BUSBAR_ASSIGN(const FaultCostOptions cost, cost_options(o, machine));
    BUSBAR_ASSIGN(machine_text, add_costs(cost, found));
    BUSBAR_ASSIGN(compared, compare_logs(evidence, cost.machine));
  }
  Json j = to_json(found, evidence);
  j["logs_against_machine"] = Json::array();
  for (const LogComparison& c : compared) j["logs_against_machine"].push_back(to_json(c));
  j["inputs_hash"] = inputs_hash(o.common, machine_text);
  j["run"] = clock.to_json();
  return deliver(o.common, j, to_document(found, evidence, o.common.typed, compared, machine),
                 fails(found, o.fail_on) ? 1 : 0);
}

}  // namespace

Command doctor_command(const std::string& typed) {
  const auto o = std::make_shared<DoctorFlags>();
  o->common.typed = typed;
  Command c;
  c.settings = &o->common.settings;
  c.name = "doctor";
  c.summary = "find what is wrong with a machine from logs and outputs of tools, with evidence and fix";
  c.examples =
      "  busbar doctor nccl.log\n"
      "  busbar doctor nccl.log topo-m.txt ibstat.txt env.txt --json\n"
      "  busbar doctor collected/ --fail-on warn\n"
      "  busbar doctor --live\n"
      "  busbar doctor nccl.log --cluster dgx-h100:2\n"
      "  busbar doctor dgx-h100:64 --set fabric.oversubscription=2\n";
  c.positionals = {
      {"FILE", "logs, outputs of tools (in any mixture), or a folder of them; or the name of a machine (dgx-h100:4)",
       &o->first, false, &o->more}};
  c.flags = {{"--live", "", "read this host: /sys, /proc, the environment and NVIDIA's library; changes nothing",
              "Inputs", &o->live},
             {"--root",
              "DIR",
              "read the copies of sys and proc in DIR instead of this host",
              "Inputs",
              &o->root,
              {},
              "--live"},
             {"--fail-on",
              "SEVERITY",
              "exit with 1 from this severity on: fail (default), warn, note or never",
              "Findings",
              &o->fail_on,
              {"fail", "warn", "note", "never"}},
             {"--cluster", "CLUSTER",
              "the machine of the logs, to predict what each finding costs and to compare logs of NCCL with it",
              "Machine", &o->cluster},
             {"--collective", "OP", "the collective whose cost is predicted (default: all_reduce, or as the rule says)",
              "Machine", &o->op}};
  for (Flag& f : common_flags(o->common, false))
    if (f.names != "--explain") c.flags.push_back(std::move(f));
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
