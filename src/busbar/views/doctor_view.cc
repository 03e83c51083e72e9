// What is wrong with a machine.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/questions/doctor_question.h"
#include "busbar/views/fault_findings.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::DifferenceOfLog;
using questions::DoctorFinding;
using questions::DoctorRequest;
using questions::DoctorResult;
using questions::LogOnMachine;
using questions::TableOnMachine;

std::string parts_of(const DoctorFinding& f) {
  std::string out;
  for (const questions::Candidate& p : f.candidates) append_word(out, p.part);
  return out;
}

/// Whole percents, without "-0".
double whole_percent(double percent) { return std::round(percent) + 0.0; }

void add_evidence(const DoctorFinding& f, std::size_t most, report::Facts& out) {
  for (std::size_t i = 0; i < f.evidence.size() && i < most; ++i)
    out.items.emplace_back(i == 0 ? "evidence" : "",
                           fmt::format("{}:{}: {}", f.evidence[i].file, f.evidence[i].line, f.evidence[i].text));
  if (f.evidence_lines > most)
    out.items.emplace_back(
        "", fmt::format("and {} more line{}", f.evidence_lines - most, f.evidence_lines - most == 1 ? "" : "s"));
}

report::Facts finding_facts(const DoctorFinding& f, std::size_t most_lines) {
  report::Facts out{fmt::format("[{}] {} ({})", f.severity, f.title, f.rule), {}};
  add_evidence(f, most_lines, out);
  if (!f.candidates.empty()) out.items.emplace_back("part", parts_of(f));
  out.items.emplace_back("why", f.explanation);
  if (f.cost_percent)
    out.items.emplace_back("cost",
                           fmt::format("{:+.0f} % time ({})", whole_percent(*f.cost_percent), f.cost_of.value_or("")));
  else if (f.cost_of)
    out.items.emplace_back("cost", *f.cost_of);
  if (f.flags) out.items.emplace_back("predict", "busbar collective ... " + *f.flags);
  for (std::size_t i = 0; i < f.fix.size(); ++i) out.items.emplace_back(i == 0 ? "fix" : "", f.fix[i]);
  return out;
}

std::string unjudged_tables(const DoctorResult& r) {
  if (!r.tables) return {};
  const auto n = std::count_if(r.tables->begin(), r.tables->end(), [](const TableOnMachine& t) { return !t.verdict; });
  return n == 0 ? "" : fmt::format(" {} table{} not judged.", n, n == 1 ? " was" : "s were");
}

/// What good tables cannot tell.
std::string limits_of_tables(const DoctorResult& r) {
  std::string out;
  if (r.tables)
    for (const TableOnMachine& t : *r.tables)
      if (t.verdict == "good" && !t.why->empty()) out += fmt::format(" {}: {}.", t.file, *t.why);
  return out;
}

std::string diagnosis_summary(const DoctorResult& r) {
  std::size_t fails = 0, warns = 0, notes = 0;
  for (const DoctorFinding& f : r.findings) ++(f.severity == "fail" ? fails : f.severity == "warn" ? warns : notes);
  if (r.findings.empty())
    return fmt::format("No rule found anything wrong: {} ok, {} not judged.{}{}", r.ok.size(), r.unknown.size(),
                       unjudged_tables(r), limits_of_tables(r));
  std::string counts;
  for (const auto& [n, one, many] : {std::tuple(fails, "fault", "faults"), std::tuple(warns, "warning", "warnings"),
                                     std::tuple(notes, "note", "notes")})
    if (n > 0) append_word(counts, fmt::format("{} {}", n, n == 1 ? one : many));
  const auto rules = [](std::size_t n) { return fmt::format("{} rule{}", n, n == 1 ? "" : "s"); };
  const DoctorFinding& first = r.findings.front();
  return fmt::format("{}: {}.{} {} found nothing, {} could not be judged.", counts, first.title,
                     first.symptom ? " Its cause does not show." : "", rules(r.ok.size()), rules(r.unknown.size()));
}

/// The way that lets most rules be judged.
std::string open_rules_line(const DoctorResult& r) {
  std::map<std::string, std::size_t> rules;
  for (const questions::OpenRule& u : r.unknown) ++rules[u.ask];
  const auto most =
      std::max_element(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("Not judged: {} rule{}, {} of them without {}; --verbose lists all.", r.unknown.size(),
                     r.unknown.size() == 1 ? "" : "s", most->second, most->first);
}

/// What to provide so that more rules can be judged, each way once.
report::Table open_rules_table(const DoctorResult& r) {
  report::Table out{"Not judged", {report::to_left("to judge"), report::to_left("provide")}, {}, {}};
  for (const questions::OpenRule& u : r.unknown) {
    bool known = false;
    for (std::vector<std::string>& row : out.rows)
      if (row[1] == u.ask) row[0] += ", " + u.rule, known = true;
    if (!known) out.rows.push_back({u.rule, u.ask});
  }
  return out;
}

std::string words_of_cost(const DifferenceOfLog& d) {
  if (!d.cost_percent) return d.cost_of;
  const std::string most = d.cost_at_most_percent ? fmt::format(", at most {:+.0f} %", *d.cost_at_most_percent) : "";
  return fmt::format("{:+.0f} % time{} ({})", whole_percent(*d.cost_percent), most, d.cost_of);
}

void add_differences(const LogOnMachine& c, report::Document& out) {
  for (const DifferenceOfLog& d : c.differences) {
    report::Facts facts{d.what, {{"log", d.logged}, {"machine", d.expected}, {"cause", d.cause}}};
    facts.items.emplace_back("cost", words_of_cost(d));
    out.add(std::move(facts));
  }
  if (!c.settings_without_effect.empty())
    out.add(report::Paragraph{
        fmt::format("Settings of the log without effect here: {}.", comma_list(c.settings_without_effect))});
}

void add_log(const LogOnMachine& c, const std::string& machine, report::Document& out) {
  if (c.refused) {
    out.add(report::Paragraph{fmt::format("{} was not compared with {}: {}.", c.file, machine, *c.refused)});
    return;
  }
  const std::string head = fmt::format("{} ranks on {} node{} ({}:{}) next to {} by the rules of {}", c.ranks, c.nodes,
                                       c.nodes == 1 ? "" : "s", c.file, c.line, machine, c.library);
  const std::string agrees = c.agrees.empty() ? "nothing" : comma_list(c.agrees);
  if (c.differences.empty()) {
    out.add(report::Paragraph{fmt::format("{}: no difference. Equal: {}.", head, agrees)});
    return;
  }
  out.add(report::Paragraph{fmt::format("{}: {} difference{}. Equal: {}.", head, c.differences.size(),
                                        c.differences.size() == 1 ? "" : "s", agrees)});
  add_differences(c, out);
}

void add_files(const DoctorResult& r, report::Document& out) {
  report::Table files{"Read", {report::to_left("file"), "lines", "used", report::to_left("kinds")}, {}, {}};
  for (const questions::ReadFile& f : r.inputs) {
    const std::string kinds = comma_list(f.kinds);
    files.rows.push_back(
        {f.file, std::to_string(f.lines), std::to_string(f.lines_with_facts), kinds.empty() ? "none" : kinds});
    if (f.stopped)
      out.add(report::Paragraph{fmt::format("{} was read up to line {} only: {}.", f.file, f.lines, *f.stopped)});
  }
  out.add(std::move(files));
}

void add_judged_table(const TableOnMachine& t, report::Document& d) {
  if (!t.verdict) {
    d.add(report::Paragraph{fmt::format("{}: the table was not judged: {}.", t.file, t.refused.value_or(""))});
    return;
  }
  d.add(report::Heading{fmt::format("{}: {} on {}{}", t.file, *t.collective, *t.cluster,
                                    t.cluster_proposed ? ", the machine that the file names" : "")});
  d.add(report::Paragraph{fmt::format(
      "The table is {}{}. Sizes from {} on take {:.0f} % {} than expected; from {:.0f} % longer on counts as low.",
      *t.verdict, t.why->empty() ? "" : ": " + *t.why, format_binary_size(t.plateau_from_bytes),
      std::abs(*t.slower_percent), *t.slower_percent < 0 ? "less" : "longer", *t.threshold_percent)});
  for (const std::string& what : t.assumed) d.add(report::Paragraph{"Assumed: " + what + "."});
  add_findings(t.faults, d);
  d.add(report::Paragraph{
      fmt::format("Each size: busbar expect {} --cluster {} --collective {}", t.file, *t.cluster, *t.collective)});
}

/// Low tables, or all others.
void add_judged_tables(const DoctorResult& r, bool low, report::Document& d) {
  if (!r.tables) return;
  for (const TableOnMachine& t : *r.tables)
    if ((t.verdict == "low") == low) add_judged_table(t, d);
}

/// What the view says of a finding; a low table has a section of its own.
void add_finding(const DoctorFinding& f, std::size_t most_lines, report::Document& d) {
  if (f.follows_from)
    d.add(report::Paragraph{fmt::format("Follows from {}: {} ({}).", *f.follows_from, f.title, f.rule)});
  else if (f.rule != "low-table")
    d.add(finding_facts(f, most_lines));
}

/// All findings fit a screen: next to a fault or a warning, notes are one paragraph unless `verbose`. The first finding
/// shows three lines, others one.
void add_all_findings(const DoctorResult& r, bool verbose, report::Document& d) {
  constexpr std::size_t kMostLines = 3;
  const bool brief = !verbose && !r.findings.empty() && r.findings.front().severity != "note";
  std::string notes;
  for (const DoctorFinding& f : r.findings) {
    const bool first = &f == &r.findings.front();
    if (brief && f.severity == "note" && !f.follows_from)
      notes += fmt::format("{}{} ({})", notes.empty() ? "" : "; ", f.title, f.rule);
    else
      add_finding(f, verbose || first ? kMostLines : 1, d);
  }
  if (!notes.empty()) d.add(report::Paragraph{fmt::format("Notes, which --verbose explains: {}.", notes)});
}

report::Document doctor_document(const DoctorRequest& q, const DoctorResult& r) {
  report::Document out{"Diagnosis", {}, {}};
  out.add(report::Highlight{diagnosis_summary(r)});
  if (r.first_failure)
    out.add(report::Paragraph{fmt::format("{} was first, {} ({}:{}).", r.first_failure->who, r.first_failure->time,
                                          r.first_failure->file, r.first_failure->line)});
  add_judged_tables(r, true, out);
  add_all_findings(r, q.verbose, out);
  add_judged_tables(r, false, out);
  if (r.logs_against_machine)
    for (const LogOnMachine& c : *r.logs_against_machine) add_log(c, r.machine, out);
  add_files(r, out);
  if (!r.unknown.empty() && q.verbose)
    out.add(open_rules_table(r));
  else if (!r.unknown.empty())
    out.add(report::Paragraph{open_rules_line(r)});
  if (r.bundle && *r.bundle)
    out.add(report::Paragraph{fmt::format(
        "{} is written. Names that no line marks as those of hosts or users are still in it: look before you send it.",
        q.bundle)});
  return out;
}

}  // namespace

View doctor_view() { return make_view("doctor", doctor_document); }

}  // namespace busbar::views
