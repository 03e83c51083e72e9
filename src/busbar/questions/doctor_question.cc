#include "busbar/questions/doctor_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "busbar/accuracy/expect_options.h"
#include "busbar/accuracy/results_meaning.h"
#include "busbar/base/input.h"
#include "busbar/doctor/compare_bundles.h"
#include "busbar/doctor/cost.h"
#include "busbar/doctor/described_machine.h"
#include "busbar/doctor/diagnose.h"
#include "busbar/doctor/doctor.h"
#include "busbar/doctor/doctor_inputs.h"
#include "busbar/doctor/first_failure.h"
#include "busbar/doctor/log_against_machine.h"
#include "busbar/formats/import.h"
#include "busbar/formats/lines.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/question.h"
#include "busbar/step/machine.h"

namespace busbar::questions {

const Record& record_of(const DoctorRequest*) {
  static const Record record(
      "doctor request",
      joined(
          {{Field("files", &DoctorRequest::files, "",
                  "logs, outputs of tools (in any mixture), or a folder of them; or the name of a machine "
                  "(dgx-h100:4)")
                .takes("FILE")
                .as_word()
                .optional(),
            Field("live", &DoctorRequest::live, "",
                  "read this host: /sys, /proc, the environment and NVIDIA's library; changes nothing")
                .of("Inputs"),
            Field("root", &DoctorRequest::root, "",
                  "read copies of the folders sys and proc below DIR instead of this host")
                .takes("DIR")
                .of("Inputs")
                .with("live"),
            Field("bundle", &DoctorRequest::bundle, "",
                  "write the inputs (and this host with --live) to an archive (.tar, .tar.gz) without names, to send")
                .takes("FILE")
                .of("Files")
                .undecided(),
            Field("bundle_full", &DoctorRequest::bundle_full, "",
                  "with --bundle: keep all lines in the archive, also those that no rule reads; they may hold names "
                  "and secrets")
                .of("Files")
                .with("bundle")
                .undecided(),
            Field("verbose", &DoctorRequest::verbose, "",
                  "explain notes next to faults, and list all rules that could not be judged with what to provide")
                .of("Output")
                .undecided(),
            Field("fail_on", &DoctorRequest::fail_on, "",
                  "exit with 1 if a finding is at least this severe: fail (default), warn, note or never")
                .takes("SEVERITY")
                .of("Findings")
                .among({"fail", "warn", "note", "never"}),
            Field("cluster", &DoctorRequest::cluster, "",
                  "the machine of the logs, to predict what each finding costs and to compare logs of NCCL with it")
                .takes("CLUSTER")
                .of("Machine"),
            Field("collective", &DoctorRequest::collective, "",
                  "the collective whose cost is predicted (default: that of the rule, or all_reduce)")
                .takes("OP")
                .of("Machine")},
           fields_inside(&DoctorRequest::machine)}));
  return record;
}

const Record& record_of(const DoctorFinding*) {
  static const Record record(
      "finding",
      {{"rule", &DoctorFinding::rule, "", "its name in docs/rules.md"},
       {"title", &DoctorFinding::title, "", "what is wrong, in a few words"},
       {"severity", &DoctorFinding::severity, "", "fail, warn or note"},
       {"symptom", &DoctorFinding::symptom, "", "it says what was seen, and not why"},
       {"part", &DoctorFinding::part, "", "what it is about; null: no part is named"},
       {"candidates", &DoctorFinding::candidates, "", "parts that may be at fault"},
       {"evidence", &DoctorFinding::evidence, "", "the lines that prove it, 50 at most"},
       {"evidence_lines", &DoctorFinding::evidence_lines, "", "number of all of them"},
       {"explanation", &DoctorFinding::explanation, "", "why it matters"},
       {"fix", &DoctorFinding::fix, "", "what to do, step by step"},
       {"cost_percent", &DoctorFinding::cost_percent, "%",
        "predicted time with the fault, relative to without, minus 1"},
       {"cost_of", &DoctorFinding::cost_of, "", "what was timed, or why nothing was"},
       {"selectors", &DoctorFinding::selectors, "", "parts of the machine, as --degrade takes them, 50 at most"},
       {"flags", &DoctorFinding::flags, "", "repeat the prediction with the fault"},
       {"follows_from", &DoctorFinding::follows_from, "", "the finding of which this one is a consequence"},
       {"references", &DoctorFinding::references, "", "sources of the rule"},
       {"page", &DoctorFinding::page, "", "where the rule is explained"}});
  return record;
}

const Record& record_of(const OpenRule*) {
  static const Record record("rule", {{"rule", &OpenRule::rule, "", "its name in docs/rules.md"},
                                      {"title", &OpenRule::title, "", "what it would find"},
                                      {"missing", &OpenRule::missing, "", "the fact that no input states"},
                                      {"ask", &OpenRule::ask, "", "how to obtain it"}});
  return record;
}

const Record& record_of(const ReadFile*) {
  static const Record record(
      "file", {{"file", &ReadFile::file, "", "its name"},
               {"lines", &ReadFile::lines, "", "that were read"},
               {"lines_with_facts", &ReadFile::lines_with_facts, "", "that state something"},
               {"kinds", &ReadFile::kinds, "", "of text that it contains"},
               {"stopped", &ReadFile::stopped, "", "why reading ended before the end; null: it did not"}});
  return record;
}

const Record& record_of(const DifferenceOfLog*) {
  static const Record record(
      "difference",
      {{"what", &DifferenceOfLog::what, "", "rings, channels, NICs, ..."},
       {"logged", &DifferenceOfLog::logged, "", "what the log says"},
       {"expected", &DifferenceOfLog::expected, "", "what the rules give on the machine"},
       {"cause", &DifferenceOfLog::cause, "", "the likely one"},
       {"cost_percent", &DifferenceOfLog::cost_percent, "%",
        "predicted time as logged, relative to as expected, minus 1"},
       {"cost_at_most_percent", &DifferenceOfLog::cost_at_most_percent, "%", "an upper bound of the cost"},
       {"cost_of", &DifferenceOfLog::cost_of, "", "what was timed, or why nothing was"}});
  return record;
}

const Record& record_of(const LogOnMachine*) {
  static const Record record(
      "log", {{"file", &LogOnMachine::file, "", "its name"},
              {"line", &LogOnMachine::line, "", "of the communicator's first message"},
              {"ranks", &LogOnMachine::ranks, "", "of the largest communicator"},
              {"nodes", &LogOnMachine::nodes, "", "with these ranks"},
              {"other_communicators", &LogOnMachine::other_communicators, "", "that were not compared"},
              {"library", &LogOnMachine::library, "", "whose rules give the expected values"},
              {"settings", &LogOnMachine::settings, "", "of the log, that the expected values follow"},
              {"settings_without_effect", &LogOnMachine::settings_without_effect, "", "of the log, not modelled"},
              {"agrees", &LogOnMachine::agrees, "", "what is equal"},
              {"differences", &LogOnMachine::differences, "", "what is not"},
              {"refused", &LogOnMachine::refused, "", "why nothing was compared; null: it was"}});
  return record;
}

const Record& record_of(const TableOnMachine*) {
  static const Record record(
      "table",
      joined({{{"file", &TableOnMachine::file, "", "its name"},
               {"cluster", &TableOnMachine::cluster, "", "the machine; null: it is not known"},
               {"cluster_proposed", &TableOnMachine::cluster_proposed, "", "the file names the machine"},
               {"refused", &TableOnMachine::refused, "", "why it was not judged; null: it was"},
               Field("collective", &TableOnMachine::collective, "", "that was measured").or_absent(),
               Field("verdict", &TableOnMachine::verdict, "", "good, low, fast or suspicious").or_absent(),
               Field("why", &TableOnMachine::why, "", "one sentence for people").or_absent(),
               Field("slower_percent", &TableOnMachine::slower_percent, "%", "large sizes, than expected").or_absent(),
               Field("threshold_percent", &TableOnMachine::threshold_percent, "%", "above this it is low").or_absent(),
               {"assumed", &TableOnMachine::assumed, "", "what the file does not say, such as units"}},
              fields_inside(&TableOnMachine::faults)}));
  return record;
}

const Record& record_of(const FirstFailed*) {
  static const Record record("failure", {{"who", &FirstFailed::who, "", "rank, or process and GPU"},
                                         {"time", &FirstFailed::time, "", "as the log writes it"},
                                         {"file", &FirstFailed::file, "", "its name"},
                                         {"line", &FirstFailed::line, "", "its number"},
                                         {"text", &FirstFailed::text, "", "that line"}});
  return record;
}

const Record& record_of(const DoctorResult*) {
  static const Record record(
      "doctor",
      {{"findings", &DoctorResult::findings, "", "worst first, consequences last"},
       {"first_failure", &DoctorResult::first_failure, "",
        "which rank failed first; null: times of several are not known"},
       {"unknown", &DoctorResult::unknown, "", "rules that could not be judged"},
       {"ok", &DoctorResult::ok, "", "rules that found nothing"},
       {"files", &DoctorResult::inputs, "", "what was read"},
       Field("logs_against_machine", &DoctorResult::logs_against_machine, "", "logs of NCCL next to the machine")
           .or_absent(),
       Field("tables", &DoctorResult::tables, "", "tables of nccl-tests, judged").or_absent(),
       Field("bundle", &DoctorResult::bundle, "", "the archive that was written; null: none").or_absent(),
       {"inputs_hash", &DoctorResult::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

namespace {

constexpr std::size_t kMostInList = 50;

std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::optional<std::string>() : text;
}

DoctorFinding shown(const busbar::doctor::Finding& f) {
  DoctorFinding out;
  out.rule = f.rule;
  out.title = f.title;
  out.severity = doctor::name_of(f.severity);
  out.symptom = f.symptom;
  out.part = text_or_null(f.part);
  for (const doctor::FaultyPart& p : f.candidates) out.candidates.push_back({p.part, p.confidence, {}});
  for (const doctor::EvidenceLine& e : f.evidence)
    if (out.evidence.size() < kMostInList) out.evidence.push_back({e.file, e.line, e.text});
  out.evidence_lines = f.evidence.size();
  out.explanation = f.explanation;
  out.fix = f.fix;
  out.cost_percent = f.cost_percent;
  out.cost_of = text_or_null(f.cost_of);
  out.selectors = f.selectors;
  if (out.selectors.size() > kMostInList) out.selectors.resize(kMostInList);
  out.flags = text_or_null(f.flags);
  out.follows_from = text_or_null(f.follows_from);
  out.references = f.references;
  out.page = "docs/rules.md#" + f.rule;
  return out;
}

void show_diagnosis(const doctor::Diagnosis& d, const busbar::doctor::Evidence& evidence, DoctorResult& r) {
  for (const busbar::doctor::Finding& f : d.findings) r.findings.push_back(shown(f));
  for (const doctor::UnknownRule& u : d.unknown) r.unknown.push_back({u.rule, u.title, u.missing, u.ask});
  r.ok = d.ok;
  if (const std::optional<doctor::FirstFailure> f = doctor::first_failure(evidence))
    r.first_failure = FirstFailed{f->who, f->time, f->file, f->line, f->text};
  for (const doctor::EvidenceFile& f : evidence.files())
    r.inputs.push_back({f.name, f.lines, f.stated, f.kinds, text_or_null(f.stopped)});
}

LogOnMachine shown(const doctor::LogComparison& c) {
  LogOnMachine out{c.file,
                   c.line,
                   c.ranks,
                   c.nodes,
                   c.others,
                   c.library,
                   c.settings,
                   c.ignored,
                   c.agrees,
                   {},
                   text_or_null(c.refused)};
  for (const doctor::LogDifference& d : c.differences)
    out.differences.push_back({d.what, d.logged, d.expected, d.cause, d.cost_percent, d.most_percent, d.cost_of});
  return out;
}

/// Whether a finding is at least as severe as `fail_on`.
bool fails(const doctor::Diagnosis& d, const std::string& fail_on) {
  for (const busbar::doctor::Finding& f : d.findings)
    if (fail_on != "never" && (fail_on == doctor::name_of(f.severity) || f.severity == doctor::Severity::kFail ||
                               (fail_on == "note" && f.severity == doctor::Severity::kWarn)))
      return true;
  return false;
}

/// `first`: the first input.
Status check_read(const busbar::doctor::Evidence& evidence, const std::string& first) {
  if (evidence.files().empty()) return invalid("no file is in it", {first, 0, 0, ""});
  std::uint64_t stated = 0, lines = 0;
  for (const doctor::EvidenceFile& f : evidence.files()) stated += f.stated, lines += f.lines;
  if (stated > 0 || !evidence.named(busbar::doctor::kErrorFact).empty()) return {};
  for (const doctor::EvidenceFile& f : evidence.files())
    if (!f.stopped.empty()) return invalid(f.stopped, {f.name, 0, 0, ""});
  if (lines == 0) return invalid("is empty", {evidence.files().front().name, 0, 0, ""});
  return invalid(
      "no rule reads any of its lines; give a log of NCCL, or what nvidia-smi, ibstat, lspci or another tool in "
      "docs/doctor.md prints",
      {evidence.files().front().name, 0, 0, ""});
}

/// Without this check, "nothing wrong" would stand where nothing was looked at.
Status check_judged(const doctor::Diagnosis& found, const busbar::doctor::Evidence& evidence) {
  if (!found.findings.empty() || !found.ok.empty()) return {};
  std::uint64_t stated = 0;
  for (const doctor::EvidenceFile& f : evidence.files()) stated += f.stated;
  return invalid(fmt::format("{} of its lines {} known, but no rule can be judged by them alone; give also {}", stated,
                             stated == 1 ? "is" : "are", found.unknown.front().ask),
                 {evidence.files().front().name, 0, 0, ""});
}

/// Pre: `machine` is not empty.
Result<doctor::FaultCostOptions> cost_options(const DoctorRequest& q, const std::string& machine,
                                              const Context& context) {
  doctor::FaultCostOptions cost;
  cost.machine.cluster = machine;
  cost.machine.load = step::load_machine;
  cost.machine.overrides = q.machine;
  cost.machine.engine = "flow";
  cost.machine.policy.stop = context.stop;
  cost.op_asked = !q.collective.empty();
  if (cost.op_asked) {
    const Result<collectives::Collective> op = collectives::parse_collective(q.collective);
    if (!op.ok()) return invalid(op.error().message, field_of("collective"));
    cost.machine.op = *op;
  }
  return cost;
}

/// Compares every log of NCCL among the files with the machine.
Result<std::vector<doctor::LogComparison>> compare_logs(const busbar::doctor::Evidence& evidence,
                                                        const accuracy::ExpectOptions& machine) {
  std::vector<doctor::LogComparison> out;
  for (const doctor::EvidenceFile& f : evidence.files()) {
    if (std::find(f.kinds.begin(), f.kinds.end(), "nccl-log") == f.kinds.end()) continue;
    const Result<formats::ImportSource> source = formats::ImportSource::open(f.name);
    if (f.name == "-" || !source.ok()) {  // standard input, or a file of an archive
      doctor::LogComparison again;
      again.file = f.name;
      again.refused = "it can be read only once here, so give the log as a file";
      out.push_back(std::move(again));
      continue;
    }
    BUSBAR_ASSIGN(formats::LineSource lines, source->lines());
    const Result<formats::NcclLog> log = formats::read_nccl_log(lines);
    if (!log.ok()) continue;
    BUSBAR_ASSIGN(doctor::LogComparison comparison, doctor::compare_log(*log, f.name, machine));
    out.push_back(std::move(comparison));
  }
  return out;
}

/// Adds what the picks of the log say to the evidence.
void read_picks(const doctor::LogComparison& c, const doctor::FactTables& tables, busbar::doctor::Evidence& evidence) {
  const std::string text = doctor::describe_picks(c);
  if (text.empty()) return;
  formats::LineSource lines = formats::LineSource::of_text(text, "picks of " + c.file);
  tables.read(lines, evidence);
}

/// Pre: the table's collective and machine are known.
Status judge(const accuracy::MeasuredResults& results, const DoctorRequest& q, const Context& context,
             TableOnMachine& out) {
  BUSBAR_ASSIGN(const accuracy::ExpectOptions options,
                accuracy::expect_options(q.machine, "flow", *out.cluster, q.collective, {}, results, 0, context.stop));
  BUSBAR_ASSIGN(const accuracy::Expectation expected, accuracy::expect_results(results, options));
  std::optional<accuracy::FaultSearchResult> found;
  if (accuracy::is_searched(expected)) {
    BUSBAR_ASSIGN(found, accuracy::search_faults(expected.rows, options));
  }
  out.collective = collectives::name_of(options.op);
  out.verdict = accuracy::name_of(expected.table.verdict);
  out.why = expected.table.why;
  out.assumed = results.assumed;
  out.slower_percent = expected.table.plateau_percent;
  out.threshold_percent = expected.table.threshold_percent;
  out.plateau_from_bytes = expected.table.plateau_from_bytes;
  out.faults = fault_findings(found ? &*found : nullptr, expected);
  return {};
}

/// Against `machine`, or against the machine that the file names. Error kInvalid, which asks for --collective, for a
/// table that does not name its operation.
Result<TableOnMachine> judged_table(const std::string& file, const accuracy::MeasuredResults& results,
                                    const DoctorRequest& q, const std::string& machine, const Context& context) {
  TableOnMachine out;
  out.file = file;
  out.first_line = results.at.first_line;
  out.cluster = text_or_null(machine);
  out.cluster_proposed = machine.empty();
  if (out.cluster_proposed) out.cluster = text_or_null(accuracy::proposed_cluster(results));
  if (q.collective.empty())  // also without a machine: the question comes first
    if (const Result<collectives::Collective> op = accuracy::collective_of(results, 0); !op.ok()) return op.error();
  if (out.cluster) {
    BUSBAR_RETURN_IF_ERROR(judge(results, q, context, out));
    return out;
  }
  out.refused = "the file does not name the machine; add --cluster dgx-h100:2, or a file";
  return out;
}

TableOnMachine refused_table(const std::string& file, std::string why) {
  TableOnMachine out;
  out.file = file;
  out.refused = std::move(why);
  return out;
}

/// The tables of a file, each operation on its own.
std::vector<Result<TableOnMachine>> tables_of_file(const std::string& file, const DoctorRequest& q,
                                                   const std::string& machine, const Context& context) {
  if (file == "-") return {refused_table(file, "a table on standard input is not judged; write it to a file")};
  const Result<accuracy::OwnFiles> read = accuracy::read_own_files(file);
  if (!read.ok()) return {refused_table(file, read.error().message)};
  std::vector<Result<TableOnMachine>> out;
  for (std::size_t i = 0; i < read->tables.size() && context.go_on("tables", i, read->tables.size()); ++i)
    out.push_back(judged_table(file, read->tables[i].results, q, machine, context));
  return out;
}

/// Whether the inputs hold tables and nothing else that says anything.
bool only_tables(const busbar::doctor::Evidence& evidence) {
  return std::all_of(evidence.files().begin(), evidence.files().end(), [](const doctor::EvidenceFile& f) {
    return f.kinds.empty() || f.kinds == std::vector<std::string>{"nccl-tests"};
  });
}

/// A table that cannot be judged is an error only if nothing was found: it must not hide a finding.
Result<std::vector<TableOnMachine>> judged_tables(const busbar::doctor::Evidence& evidence,
                                                  const doctor::Diagnosis& found, const DoctorRequest& q,
                                                  const std::string& machine, const Context& context) {
  std::vector<TableOnMachine> out;
  for (const std::uint32_t i : evidence.named("table.header")) {
    const doctor::EvidenceFile& file = evidence.files()[static_cast<std::size_t>(evidence.facts()[i].file)];
    if (!out.empty() && out.back().file == file.name) continue;
    for (Result<TableOnMachine>& table : tables_of_file(file.name, q, machine, context)) {
      if (!table.ok() && (found.findings.empty() || context.stopped())) return table.error();
      out.push_back(table.ok() ? *std::move(table) : refused_table(file.name, table.error().message));
    }
  }
  const bool judged =
      std::any_of(out.begin(), out.end(), [](const TableOnMachine& t) { return t.verdict.has_value(); });
  if (!out.empty() && !judged && found.findings.empty() && only_tables(evidence))
    return invalid(*out.front().refused, {out.front().file, 0, 0, ""});
  return out;
}

/// The first row of the table.
doctor::EvidenceLine first_row_of(const TableOnMachine& t) {
  doctor::EvidenceLine out{t.file, t.first_line, ""};
  const Result<formats::ImportSource> source = formats::ImportSource::open(t.file);
  if (!source.ok()) return out;
  Result<formats::LineSource> lines = source->lines();
  if (!lines.ok()) return out;
  std::string_view line;
  for (int i = 0; i < t.first_line && lines->next(line); ++i) out.text = line;
  return out;
}

/// The finding of a log that is one of the faults that fit the table best; empty: none.
std::string explained_by(const TableOnMachine& t, const std::vector<busbar::doctor::Finding>& of_rules) {
  if (t.faults.findings->empty()) return {};
  for (const FaultCandidate& c : t.faults.findings->front().candidates)
    for (const busbar::doctor::Finding& f : of_rules)
      if (std::find(f.cost.faults.begin(), f.cost.faults.end(), c.rule) != f.cost.faults.end() &&
          f.follows_from.empty())
        return f.rule;
  return {};
}

/// The file names the GPUs of several nodes and not their network. Half of the NICs of the usual machine, or NICs of
/// half their rate, are no fault.
bool network_is_assumed(const TableOnMachine& t) {
  constexpr double kHalfOfRate = 100;  // percent
  return t.cluster_proposed && t.cluster->find(':') != std::string::npos && t.slower_percent.value_or(0) < kHalfOfRate;
}

busbar::doctor::Finding low_table(const TableOnMachine& t, const std::vector<busbar::doctor::Finding>& of_rules) {
  busbar::doctor::Finding out;
  out.rule = "low-table";
  out.severity = network_is_assumed(t) ? doctor::Severity::kNote : doctor::Severity::kFail;
  out.title = fmt::format("{} of {} is low: {}", *t.collective, t.file, *t.why);
  out.evidence = {first_row_of(t)};
  const bool searched = !t.faults.findings->empty();
  out.explanation = searched ? "Faults that explain it: " + t.faults.findings->front().explanation + "."
                             : "No single fault changes these times.";
  if (network_is_assumed(t))
    out.explanation +=
        " The file does not name the network, so that of " + *t.cluster + " is assumed; --cluster states another.";
  out.fix = {
      fmt::format("busbar expect {} --cluster {} --collective {}  # each size", t.file, *t.cluster, *t.collective)};
  for (const TellingMeasurement& m : *t.faults.next) out.fix.push_back(m.command + "  # tells " + m.tells);
  out.follows_from = explained_by(t, of_rules);
  return out;
}

/// A table faster than physics allows is of another machine, of another operation, or in another unit.
busbar::doctor::Finding impossible_table(const TableOnMachine& t) {
  constexpr double kThousand = 1000, kNear = 3;  // times below the expected time that a wrong unit gives
  busbar::doctor::Finding out;
  out.rule = "impossible-table";
  out.severity = doctor::Severity::kWarn;
  out.title = fmt::format("{} of {} cannot be of {}: {}", *t.collective, t.file, *t.cluster, *t.why);
  out.evidence = {first_row_of(t)};
  const double faster = 1 / std::max(1 + *t.slower_percent / 100, 1e-9);
  const bool wrong_unit = faster > kThousand / kNear && faster < kThousand * kNear;
  out.explanation = wrong_unit ? "The times are about 1,000 times shorter than expected, so they are probably in ms, "
                                 "and the column should hold us."
                               : "The machine, the number of GPUs, the operation or the unit is another one.";
  out.fix = {
      fmt::format("busbar expect {} --cluster {} --collective {}  # each size", t.file, *t.cluster, *t.collective)};
  return out;
}

/// Low and impossible tables come after what rules find at fail and before all else.
void add_low_tables(const std::vector<TableOnMachine>& tables, doctor::Diagnosis& found) {
  const std::vector<busbar::doctor::Finding> of_rules = found.findings;
  for (const TableOnMachine& t : tables) {
    if (t.verdict != "low" && t.verdict != "suspicious") continue;
    busbar::doctor::Finding low = t.verdict == "low" ? low_table(t, of_rules) : impossible_table(t);
    const auto place =
        std::find_if(found.findings.begin(), found.findings.end(), [&](const busbar::doctor::Finding& f) {
          return low.follows_from.empty() && (f.severity != doctor::Severity::kFail || !f.follows_from.empty());
        });
    found.findings.insert(place, std::move(low));
  }
}

/// The machine that the only word names, or why it names none; nothing if the words are files. A folder without a slash
/// hides no machine.
std::optional<Result<spec::Cluster>> named_machine(const std::vector<std::string>& words,
                                                   const spec::Overrides& overrides) {
  if (words.size() != 1 || words[0] == "-" || names_input(words[0])) return std::nullopt;
  Result<spec::Cluster> machine = step::load_machine(words[0], overrides);
  std::error_code unknown;
  if (!machine.ok() && std::filesystem::is_directory(words[0], unknown)) return std::nullopt;
  return machine;
}

Status read_files(const std::vector<std::string>& files, const doctor::FactTables& tables, const Context& context,
                  busbar::doctor::Evidence& evidence) {
  for (std::size_t i = 0; i < files.size() && context.go_on("files", i, files.size()); ++i)
    BUSBAR_RETURN_IF_ERROR(doctor::read_evidence(files[i], tables, evidence, context.stop));
  return {};
}

Status refuse_fields_of_a_machine(const DoctorRequest& q) {
  const spec::Overrides& given = q.machine;
  const std::pair<const char*, bool> fields[] = {{"collective", !q.collective.empty()},
                                                 {"set", !given.set.empty()},
                                                 {"degrade", !given.degrade.empty()},
                                                 {"fail", !given.fail.empty()},
                                                 {"nodes", given.nodes > 0},
                                                 {"gpu", !given.gpu.empty()},
                                                 {"gpu_memory_rate", !given.gpu_memory_rate.empty()}};
  for (const auto& [field, is_given] : fields)
    if (is_given) return invalid("needs a machine; add --cluster dgx-h100:2, or a file", field_of(field));
  return {};
}

/// What is to be judged: files, this host, or a described machine.
struct InputsRead {
  std::vector<std::string> files;
  std::string machine;
  busbar::doctor::Evidence evidence;
};

Status read_inputs(const DoctorRequest& q, const doctor::DoctorInputs& host, const doctor::FactTables& tables,
                   const Context& context, InputsRead& in) {
  in.machine = q.cluster;
  BUSBAR_RETURN_IF_ERROR(doctor::read_live(host, tables, in.evidence));
  if (q.files.empty())
    return q.live ? Status()
                  : invalid("name a file, a folder or a machine (dgx-h100:4), or add --live", field_of("files"));
  const std::optional<Result<spec::Cluster>> named = named_machine(q.files, q.machine);
  if (!named) {
    in.files = q.files;
    return read_files(in.files, tables, context, in.evidence);
  }
  BUSBAR_ASSIGN(const spec::Cluster cluster, *named);
  const std::string text = doctor::describe_machine(cluster);
  formats::LineSource lines = formats::LineSource::of_text(text, q.files[0]);
  tables.read(lines, in.evidence);
  if (!in.machine.empty()) return invalid("the machine is named twice; leave it out", field_of("cluster"));
  in.machine = q.files[0];
  return {};
}

/// Of rules, with what bundles say against each other.
doctor::Diagnosis diagnosis_of(const busbar::doctor::Evidence& evidence, const std::vector<doctor::Rule>& rules,
                               const doctor::FactTables& tables) {
  doctor::Diagnosis found = doctor::diagnose(evidence, rules, tables);
  const std::vector<busbar::doctor::Finding> odd = doctor::compare_bundles(evidence);
  const auto place = std::find_if(found.findings.begin(), found.findings.end(), [](const busbar::doctor::Finding& f) {
    return f.severity != doctor::Severity::kFail;
  });
  found.findings.insert(place, odd.begin(), odd.end());
  return found;
}

}  // namespace

Result<DoctorResult> answer(const DoctorRequest& q, const Context& context) {
  const spec::Catalog catalog(q.machine.catalog);
  BUSBAR_ASSIGN(const doctor::FactTables tables, doctor::FactTables::load(catalog));
  BUSBAR_ASSIGN(const std::vector<doctor::Rule> rules, doctor::load_rules(catalog));
  const doctor::DoctorInputs host{q.live, q.root, q.bundle, q.bundle_full};
  InputsRead in;
  DoctorResult r;
  BUSBAR_RETURN_IF_ERROR(read_inputs(q, host, tables, context, in));
  if (!in.files.empty() && context.stopped()) {  // what the lines before a signal say
    show_diagnosis(doctor::diagnose(in.evidence, rules, tables), in.evidence, r);
    r.inputs_hash = inputs_hash("doctor", q, "");
    return r;
  }
  BUSBAR_RETURN_IF_ERROR(doctor::write_bundle(host, in.files, in.evidence, tables));
  BUSBAR_RETURN_IF_ERROR(check_read(in.evidence, q.files.empty() ? "" : q.files[0]));
  r.machine = in.machine;
  const bool alone = in.machine.empty();
  if (alone && in.evidence.named("table.header").empty()) BUSBAR_RETURN_IF_ERROR(refuse_fields_of_a_machine(q));
  doctor::FaultCostOptions cost;
  r.logs_against_machine.emplace();
  if (!alone) {
    BUSBAR_ASSIGN(cost, cost_options(q, in.machine, context));
    BUSBAR_ASSIGN(const std::vector<doctor::LogComparison> compared, compare_logs(in.evidence, cost.machine));
    for (const doctor::LogComparison& c : compared) read_picks(c, tables, in.evidence);
    for (const doctor::LogComparison& c : compared) r.logs_against_machine->push_back(shown(c));
  }
  doctor::Diagnosis found = diagnosis_of(in.evidence, rules, tables);
  BUSBAR_ASSIGN(r.tables, judged_tables(in.evidence, found, q, in.machine, context));
  if (r.tables->empty() && r.logs_against_machine->empty()) BUSBAR_RETURN_IF_ERROR(check_judged(found, in.evidence));
  add_low_tables(*r.tables, found);
  std::string machine_text;
  if (!alone) {
    BUSBAR_ASSIGN(machine_text, doctor::add_costs(cost, found));
  }
  show_diagnosis(found, in.evidence, r);
  r.bundle = text_or_null(q.bundle);
  r.inputs_hash = inputs_hash("doctor", q, machine_text);
  r.exit_status = fails(found, q.fail_on) ? 1 : 0;
  return r;
}

Question doctor_question() {
  return make_question<DoctorRequest, DoctorResult>(
      "doctor", "find what is wrong with a machine from logs and outputs of tools, with evidence and fix",
      "  busbar doctor examples/logs/nccl-2x8-h100.log\n"
      "  busbar doctor nccl.log topo-m.txt ibstat.txt env.txt --json\n"
      "  busbar doctor collected/ --fail-on warn\n"
      "  busbar doctor --live\n"
      "  busbar doctor --live nccl.log --bundle case.tar.gz\n"
      "  busbar doctor node1.tar.gz node2.tar.gz node3.tar.gz\n"
      "  busbar doctor nccl.log --cluster dgx-h100:2\n"
      "  busbar doctor dgx-h100:64 --set fabric.oversubscription=2\n",
      160);
}

}  // namespace busbar::questions
