#include "busbar/doctor/first_failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "busbar/doctor/internal/log_prefix.h"

namespace busbar::doctor {
namespace {

const std::string& file_of(const Fact& f, const Evidence& evidence) {
  return evidence.files()[static_cast<std::size_t>(f.file)].name;
}

bool is_harmless(const Fact& f, const Evidence& evidence) {
  return std::any_of(f.with.begin(), f.with.end(),
                     [&](std::uint32_t i) { return evidence.facts()[i].name == kHarmlessFact; });
}

bool tells_failure(const Fact& f, const Evidence& evidence) {
  if (f.name == kWarningFact) return !is_harmless(f, evidence);
  return f.name == kFailureFact || f.name == "watchdog.timeout" || f.name.starts_with("failed.");
}

}  // namespace

std::string who_prints(const Fact& fact, const Evidence& evidence) {
  const std::string who = gpu_of_log_line(fact.text);
  for (const std::uint32_t i : evidence.named("rank.started")) {
    const Fact& rank = evidence.facts()[i];
    if (!who.empty() && rank.file == fact.file && gpu_of_log_line(rank.text) == who) return "rank " + rank.value;
  }
  return who.empty() ? fmt::format("line {} of {}", fact.line, file_of(fact, evidence)) : who;
}

std::optional<FirstFailure> first_failure(const Evidence& evidence) {
  const Fact* first = nullptr;
  std::set<std::string> who;
  std::size_t shape = 0;  // length of the times
  for (const Fact& f : evidence.facts()) {
    if (f.time.empty() || !tells_failure(f, evidence)) continue;
    if (shape == 0) shape = f.time.size();
    if (f.time.size() != shape) continue;
    const std::string gpu = gpu_of_log_line(f.text);
    who.insert(gpu.empty() ? file_of(f, evidence) : gpu);
    if (first == nullptr || f.time < first->time) first = &f;
  }
  if (who.size() < 2) return std::nullopt;
  return FirstFailure{who_prints(*first, evidence), first->time, file_of(*first, evidence), first->text, first->line};
}

}  // namespace busbar::doctor
