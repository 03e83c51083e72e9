#include "busbar/doctor/diagnose.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "busbar/base/text.h"
#include "busbar/doctor/internal/conditions.h"
#include "busbar/doctor/unknown_warnings.h"

namespace busbar::doctor {
namespace {

constexpr std::size_t kMostParts = 16;

/// Up to a few different texts: "a, b, c and 5 more".
class ShortList {
 public:
  void add(const std::string& text) {
    if (!text.empty() && seen_.insert(text).second && seen_.size() <= kMost) append_word(text_, text);
  }
  std::string text() const {
    return seen_.size() > kMost ? fmt::format("{} and {} more", text_, seen_.size() - kMost) : text_;
  }

 private:
  static constexpr std::size_t kMost = 4;
  std::set<std::string> seen_;
  std::string text_;
};

void replace_all(std::string& text, std::string_view name, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; at += by.size()) text.replace(at, name.size(), by);
}

/// Puts what the facts say into the places {subject}, {value} and {host} of a text.
class Words {
 public:
  explicit Words(const std::vector<Fulfilment>& found) {
    for (const Fulfilment& f : found)
      for (const Fact* fact : f.lead) {
        subject_.add(fact->subject);
        value_.add(fact->value);
        host_.add(fact->host);
      }
    for (const Fulfilment& f : found)
      for (const Fact* fact : f.rest) other_.add(fact->value);
  }
  std::string in(std::string text) const {
    replace_all(text, "{subject}", subject_.text());
    replace_all(text, "{value}", value_.text());
    replace_all(text, "{host}", host_.text());
    replace_all(text, "{other}", other_.text());
    return text;
  }

 private:
  ShortList subject_, value_, host_, other_;
};

std::vector<EvidenceLine> lines_of(const std::vector<Fulfilment>& found, const Evidence& evidence) {
  std::vector<EvidenceLine> out;
  std::set<std::pair<int, int>> seen;
  const auto add = [&](const Fact* f) {
    if (seen.emplace(f->file, f->line).second)
      out.push_back({evidence.files()[static_cast<std::size_t>(f->file)].name, f->line, f->text});
  };
  for (const Fulfilment& f : found) {
    for (const Fact* fact : f.lead) add(fact);
    for (const Fact* fact : f.rest) add(fact);
  }
  return out;
}

/// The counterpart of the rule with the words of each fact, each once.
RuleCost filled_cost(const RuleCost& cost, const std::vector<Fulfilment>& found) {
  RuleCost out = cost;
  out.faults.clear();
  for (const std::string& fault : cost.faults)
    for (const Fulfilment& f : found)
      for (const Fact* fact : f.lead) {
        std::string words = Words({{{fact}, {}}}).in(fault);
        if (std::find(out.faults.begin(), out.faults.end(), words) == out.faults.end())
          out.faults.push_back(std::move(words));
      }
  return out;
}

Finding finding_of(const Rule& rule, const std::vector<Fulfilment>& found, const Evidence& evidence) {
  const Words words(found);
  Finding out;
  out.rule = rule.id;
  out.title = words.in(rule.title);
  out.severity = rule.severity;
  out.symptom = rule.symptom;
  out.explanation = words.in(rule.explanation);
  for (const std::string& line : rule.fix) out.fix.push_back(words.in(line));
  out.references = rule.references;
  out.cost = filled_cost(rule.cost, found);
  out.evidence = lines_of(found, evidence);
  if (rule.part.empty()) return out;
  std::set<std::string> seen;
  for (const Fulfilment& f : found)
    for (const Fact* fact : f.lead) {
      std::string part = Words({{{fact}, f.rest}}).in(rule.part);
      if (seen.insert(part).second && out.candidates.size() < kMostParts)
        out.candidates.push_back({std::move(part), 1});
    }
  out.part = out.candidates.front().part;
  return out;
}

UnknownRule unknown_of(const Rule& rule, const std::string& fact, const FactTables& tables) {
  UnknownRule out{rule.id, rule.title, fact, {}};
  for (const std::size_t t : tables.tables_of(fact))
    out.ask += (out.ask.empty() ? "" : ", or ") + tables.tables()[t].ask;
  return out;
}

/// Marks findings that another one explains.
void mark_consequences(std::vector<Finding>& findings, const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    const auto fires = [&](const Finding& f) { return f.rule == rule.id && f.follows_from.empty(); };
    if (rule.hides.empty() || std::none_of(findings.begin(), findings.end(), fires)) continue;
    for (Finding& f : findings)
      if (std::find(rule.hides.begin(), rule.hides.end(), f.rule) != rule.hides.end()) f.follows_from = rule.id;
  }
}

/// Rules of families of warnings (catalog/rules/warnings.yaml) read only lines that nothing else explains.
bool is_family(const Rule& rule) { return rule.when.front().fact.starts_with("warning."); }

using Lines = std::set<std::pair<int, int>>;

/// Which facts and lines are evidence of a finding, or say that a warning is harmless.
class Explained {
 public:
  explicit Explained(const Evidence& evidence) : evidence_(evidence) {
    for (const std::uint32_t i : evidence.named(kWarningFact)) {
      const Fact& f = evidence.facts()[i];
      warnings_[{f.file, f.line}] = &f;
    }
  }
  void add(const std::vector<Fulfilment>& found) {
    for (const Fulfilment& f : found)
      for (const std::vector<const Fact*>& facts : {f.lead, f.rest})
        for (const Fact* fact : facts) facts_.insert(fact), lines_.emplace(fact->file, fact->line);
  }
  /// Whether another rule reads the line of `family`. Equal facts of several lines are one, so the line alone does not
  /// say.
  bool covers(const Fact& family) const {
    const std::pair line(family.file, family.line);
    if (lines_.contains(line)) return true;
    const auto warning = warnings_.find(line);
    return warning != warnings_.end() &&
           std::any_of(warning->second->with.begin(), warning->second->with.end(), [&](std::uint32_t i) {
             const Fact& f = evidence_.facts()[i];
             return f.name == kHarmlessFact || facts_.contains(&f);
           });
  }

 private:
  const Evidence& evidence_;
  std::map<std::pair<int, int>, const Fact*> warnings_;
  std::set<const Fact*> facts_;
  Lines lines_;
};

bool is_set_by_test(const Fact& setting, const Evidence& evidence) {
  if (setting.name != "env") return false;
  const std::vector<std::uint32_t>& meant = evidence.named("env.of_test");
  return std::any_of(meant.begin(), meant.end(), [&](std::uint32_t i) {
    const Fact& f = evidence.facts()[i];
    return f.file == setting.file && f.subject == setting.subject && f.value == setting.value;
  });
}

bool is_set_by_test(const std::vector<Fulfilment>& found, const Evidence& evidence) {
  return std::all_of(found.begin(), found.end(), [&](const Fulfilment& f) {
    return std::all_of(f.lead.begin(), f.lead.end(), [&](const Fact* s) { return is_set_by_test(*s, evidence); });
  });
}

/// What a user sets for a test is no fault of the machine.
void note_what_is_meant(const std::vector<Fulfilment>& found, const Evidence& evidence, Finding& out) {
  if (!is_set_by_test(found, evidence)) return;
  out.severity = Severity::kNote;
  out.explanation += " The command of the test sets it.";
}

/// What makes a job slow does not end it.
void lower_what_is_slow(const Evidence& evidence, std::vector<Finding>& findings) {
  if (evidence.named(kFailureFact).empty()) return;
  for (Finding& f : findings)
    if (!f.cost.faults.empty() && f.severity == Severity::kFail) f.severity = Severity::kWarn;
}

/// Whether a rule on this fact says what ends a job, and not what slows it down.
bool ends_jobs(std::string_view fact) {
  for (const std::string_view family : {"failed.", "program.", "process.", "warning.", "verbs.", "shm.", "files."})
    if (fact.starts_with(family)) return true;
  return fact == kWarningFact;
}

/// Where the job last made progress, by name of the file; none if a line says that it has failed.
std::map<std::string, int> last_progress(const Evidence& evidence) {
  std::map<std::string, int> out;
  if (!evidence.named(kFailureFact).empty()) return out;
  for (const std::uint32_t i : evidence.named(kProgressFact)) {
    const Fact& f = evidence.facts()[i];
    int& last = out[evidence.files()[static_cast<std::size_t>(f.file)].name];
    last = std::max(last, f.line);
  }
  return out;
}

/// What a job has survived was no failure.
void lower_what_was_survived(const std::set<std::string>& rules, const Evidence& evidence,
                             std::vector<Finding>& findings) {
  const std::map<std::string, int> progress = last_progress(evidence);
  if (progress.empty()) return;
  const auto before_progress = [&](const EvidenceLine& e) {
    const auto last = progress.find(e.file);
    return last != progress.end() && e.line < last->second;
  };
  for (Finding& f : findings) {
    if (!rules.contains(f.rule) || f.severity == Severity::kNote || !f.cost.faults.empty()) continue;
    if (!std::all_of(f.evidence.begin(), f.evidence.end(), before_progress)) continue;
    f.severity = Severity::kNote;
    f.explanation += " The job went on after it.";
  }
}

/// A warning is a fault if the job has ended early and nothing else is one.
void raise_warnings(const Evidence& evidence, std::vector<Finding>& findings) {
  const auto fails = [](const Finding& f) { return f.severity == Severity::kFail; };
  if (evidence.named(kFailureFact).empty() || std::any_of(findings.begin(), findings.end(), fails)) return;
  Lines warnings;
  for (const std::uint32_t i : evidence.named(kWarningFact))
    warnings.emplace(evidence.facts()[i].file, evidence.facts()[i].line);
  for (Finding& f : findings)
    for (const EvidenceLine& e : f.evidence)
      for (const auto& [file, line] : warnings)
        if (f.severity == Severity::kWarn && e.line == line &&
            e.file == evidence.files()[static_cast<std::size_t>(file)].name)
          f.severity = Severity::kFail;
}

}  // namespace

Diagnosis diagnose(const Evidence& evidence, const std::vector<Rule>& rules, const FactTables& tables) {
  Diagnosis out;
  std::set<std::string> of_ends;  // rules on what ends jobs
  for (const Rule& rule : rules)
    if (ends_jobs(rule.when.front().fact)) of_ends.insert(rule.id);
  Explained explained(evidence);
  const auto judge = [&](const Rule& rule) {
    std::vector<Fulfilment> found = fulfilments(rule, evidence);
    if (is_family(rule)) std::erase_if(found, [&](const Fulfilment& f) { return explained.covers(*f.lead.front()); });
    const bool said_by_others = rule.alone && !out.findings.empty();
    if (!found.empty() && !said_by_others) {
      out.findings.push_back(finding_of(rule, found, evidence));
      note_what_is_meant(found, evidence, out.findings.back());
      explained.add(found);
      return;
    }
    const auto missing = std::find_if(rule.judged_by.begin(), rule.judged_by.end(),
                                      [&](const std::string& fact) { return evidence.named(fact).empty(); });
    if (missing == rule.judged_by.end() || said_by_others)
      out.ok.push_back(rule.id);
    else
      out.unknown.push_back(unknown_of(rule, *missing, tables));
  };
  for (const Rule& rule : rules)
    if (!is_family(rule) && !rule.alone) judge(rule);
  for (const Rule& rule : rules)
    if (is_family(rule)) judge(rule);
  for (const Rule& rule : rules)
    if (rule.alone) judge(rule);
  mark_consequences(out.findings, rules);
  lower_what_is_slow(evidence, out.findings);
  raise_warnings(evidence, out.findings);
  for (Finding& f : unknown_warnings(evidence, out.findings)) out.findings.push_back(std::move(f));
  of_ends.insert("unknown-warning");
  lower_what_was_survived(of_ends, evidence, out.findings);
  // Of what ends jobs the first line is nearest to the cause; lines of several files come in no order of time.
  const auto place = [&](const Finding& f) {
    const bool ends = of_ends.contains(f.rule);
    return std::pair(!ends, ends && evidence.files().size() == 1 ? f.evidence.front().line : 0);
  };
  const auto order = [&](const Finding& f) {
    return std::tuple(!f.follows_from.empty(), -static_cast<int>(f.severity), f.symptom, place(f));
  };
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [&](const Finding& a, const Finding& b) { return order(a) < order(b); });
  return out;
}

}  // namespace busbar::doctor
