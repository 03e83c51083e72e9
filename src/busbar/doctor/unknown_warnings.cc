#include "busbar/doctor/unknown_warnings.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "busbar/doctor/first_failure.h"

namespace busbar::doctor {
namespace {

constexpr std::size_t kLongestTitle = 120;

/// One message of NCCL, with any numbers in it.
struct WarningKind {
  const Fact* first = nullptr;
  std::vector<const Fact*> all;
  std::uint64_t count = 0;
};

/// The message with '#' for each number, address or pointer.
std::string without_numbers(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool digit = (c >= '0' && c <= '9') || (!out.empty() && out.back() == '#' && c >= 'a' && c <= 'f');
    if (!digit) out += c;
    if (digit && (out.empty() || out.back() != '#')) out += '#';
  }
  return out;
}

bool is_named(std::string_view name, const Evidence& evidence, const Fact& warning) {
  return std::any_of(warning.with.begin(), warning.with.end(),
                     [&](std::uint32_t i) { return evidence.facts()[i].name == name; });
}

class Unexplained {
 public:
  Unexplained(const Evidence& evidence, const std::vector<Finding>& known) : evidence_(evidence) {
    for (const Finding& f : known) {
      failed_ = failed_ || f.severity == Severity::kFail;
      for (const EvidenceLine& e : f.evidence) lines_.emplace(e.file, e.line);
    }
  }

  bool has_fail() const { return failed_; }

  /// In the order of their first lines.
  std::vector<WarningKind> kinds() const {
    std::vector<WarningKind> out;
    std::map<std::string, std::size_t> place;
    for (const std::uint32_t i : evidence_.named(kWarningFact)) {
      const Fact& warning = evidence_.facts()[i];
      if (is_explained(warning)) continue;
      const auto [at, is_new] = place.emplace(without_numbers(warning.value), out.size());
      if (is_new) out.push_back({&warning, {}, 0});
      out[at->second].all.push_back(&warning);
      out[at->second].count += warning.count;
    }
    return out;
  }

 private:
  bool is_evidence(const Fact& f) const {
    return lines_.contains({evidence_.files()[static_cast<std::size_t>(f.file)].name, f.line});
  }
  bool is_explained(const Fact& warning) const {
    return is_named(kHarmlessFact, evidence_, warning) || is_evidence(warning) ||
           std::any_of(warning.with.begin(), warning.with.end(),
                       [&](std::uint32_t i) { return is_evidence(evidence_.facts()[i]); });
  }

  const Evidence& evidence_;
  std::set<std::pair<std::string, int>> lines_;
  bool failed_ = false;
};

EvidenceLine line_of(const Fact& f, const Evidence& evidence) {
  return {evidence.files()[static_cast<std::size_t>(f.file)].name, f.line, f.text};
}

void add_failures(const Evidence& evidence, Finding& out) {
  for (const std::uint32_t i : evidence.named(kFailureFact))
    out.evidence.push_back(line_of(evidence.facts()[i], evidence));
}

std::string shortened(std::string text) {
  if (text.size() > kLongestTitle) text = text.substr(0, kLongestTitle) + "...";
  return text;
}

Finding warnings_of(const std::vector<WarningKind>& kinds, const Evidence& evidence, bool fatal) {
  Finding out;
  out.symptom = true;
  out.rule = "unknown-warning";
  out.severity = fatal ? Severity::kFail : Severity::kWarn;
  const Fact& first = *kinds.front().first;
  out.title = fmt::format("{} that no rule knows: {}, first on {}",
                          kinds.size() == 1 ? "A warning" : fmt::format("{} warnings", kinds.size()),
                          shortened(first.value), who_prints(first, evidence));
  out.explanation = fatal
                        ? "The job has failed, and NCCL warned before. The first warning is closest to the cause."
                        : "NCCL prints a warning only where a call failed or a setting is wrong. The first is closest "
                          "to the cause.";
  for (const WarningKind& k : kinds) out.evidence.push_back(line_of(*k.first, evidence));
  for (const WarningKind& k : kinds)
    for (const Fact* f : k.all)
      if (f != k.first) out.evidence.push_back(line_of(*f, evidence));
  if (fatal) add_failures(evidence, out);
  out.fix = {"export NCCL_DEBUG=INFO  # and give the doctor the log of every rank",
             "search for the message at github.com/NVIDIA/nccl/issues"};
  return out;
}

Finding failure_of(const Evidence& evidence) {
  Finding out;
  out.symptom = true;
  out.rule = "unknown-failure";
  out.severity = Severity::kFail;
  out.title = "The job has failed, and nothing here says why";
  out.explanation = "A line shows that a process has ended with an error. No line that a rule knows comes before it.";
  add_failures(evidence, out);
  out.fix = {"export NCCL_DEBUG=INFO  # and give the doctor the log of every rank"};
  return out;
}

/// Lines that speak of an error, where nothing else does.
Finding errors_of(const Evidence& evidence) {
  const std::vector<std::uint32_t>& lines = evidence.named(kErrorFact);
  Finding out;
  out.symptom = true;
  out.rule = "unknown-error";
  out.severity = Severity::kNote;
  const Fact& first = evidence.facts()[lines.front()];
  out.title = fmt::format("{} of an error that no rule knows: {}",
                          lines.size() == 1 ? "A line speaks" : fmt::format("{} lines speak", lines.size()),
                          shortened(first.text));
  out.explanation = "No rule reads these lines, so nothing here says whether the job has failed, or why.";
  for (const std::uint32_t i : lines) out.evidence.push_back(line_of(evidence.facts()[i], evidence));
  out.fix = {"export NCCL_DEBUG=INFO  # and give the doctor the whole log of every rank"};
  return out;
}

}  // namespace

std::vector<Finding> unknown_warnings(const Evidence& evidence, const std::vector<Finding>& known) {
  const Unexplained unexplained(evidence, known);
  const bool fatal = !evidence.named(kFailureFact).empty() && !unexplained.has_fail();
  const std::vector<WarningKind> kinds = unexplained.kinds();
  if (!kinds.empty()) return {warnings_of(kinds, evidence, fatal)};
  if (fatal) return {failure_of(evidence)};
  if (known.empty() && !evidence.named(kErrorFact).empty()) return {errors_of(evidence)};
  return {};
}

}  // namespace busbar::doctor
