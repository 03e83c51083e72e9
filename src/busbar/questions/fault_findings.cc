#include "busbar/questions/fault_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/text.h"

namespace busbar::questions {

const Record& record_of(const FaultCandidate*) {
  static const Record record(
      "candidate",
      {{"rank", &FaultCandidate::rank, "", "1: fits best; equal: these results do not tell them apart"},
       {"rule", &FaultCandidate::rule, "", "what kind of fault it is"},
       {"part", &FaultCandidate::part, "", "a selector that --degrade takes; null: the whole machine"},
       {"alike", &FaultCandidate::alike, "", "all parts of its class"},
       {"factor", &FaultCandidate::factor, "", "remaining share of the rate; 0: dead; 1: not a matter of rate"},
       {"confidence", &FaultCandidate::confidence, "", "share of the likelihood, 0 to 1"},
       {"explanation", &FaultCandidate::explanation, "", "one sentence for people"},
       {"flags", &FaultCandidate::flags, "", "repeat the prediction with the fault"},
       {"misfit", &FaultCandidate::misfit, "", "sum of squares of the best of this rank, in units of the noise"}});
  return record;
}

const Record& record_of(const FaultFinding*) {
  static const Record record(
      "finding", {{"rule", &FaultFinding::rule, "", "what kind of fault it is, or cannot-tell"},
                  {"severity", &FaultFinding::severity, "", "fail, warn or unknown"},
                  {"part", &FaultFinding::part, "", "a selector that --degrade takes; null: no part is named"},
                  {"candidates", &FaultFinding::candidates, "", "most likely first"},
                  {"explanation", &FaultFinding::explanation, "", "one sentence for people"},
                  {"cost_percent", &FaultFinding::cost_percent, "%", "how much longer large sizes take with it"},
                  {"sound_confidence", &FaultFinding::sound_confidence, "", "that the machine is sound, 0 to 1"}});
  return record;
}

const Record& record_of(const TellingMeasurement*) {
  static const Record record("measurement",
                             {{"tells", &TellingMeasurement::tells, "", "which node, which rail, ..."},
                              {"command", &TellingMeasurement::command, "", "for a shell, with nccl-tests"}});
  return record;
}

const Record& record_of(const FaultFindings*) {
  static const Record record(
      "findings", {Field("findings", &FaultFindings::findings, "", "a fault that explains the results").or_absent(),
                   Field("unseen_parts", &FaultFindings::unseen_parts, "", "whose faults would not show").or_absent(),
                   Field("next", &FaultFindings::next, "", "measurements that tell candidates apart").or_absent()});
  return record;
}

namespace {

constexpr std::size_t kListed = 6;      // ranks
constexpr double kWorthListing = 0.01;  // of the likelihood
constexpr std::size_t kMostAlike = 4;   // a part is named if no more parts are like it

std::string words_of(const accuracy::Suspect& s, double factor) {
  if (factor == 0 && !s.whole()) return s.words + ": dead";
  return factor < 1 && factor > 0 ? fmt::format("{} at {:.0f} %", s.words, 100 * factor) : s.words;
}

std::optional<std::string> selector_of(const accuracy::Suspect& s) {
  return s.whole() ? std::optional<std::string>() : s.part;
}

/// fail: named and low; warn: named, but within what healthy machines show; unknown: not named.
const char* severity_of(const FaultFindings& found) {
  if (!found.named) return "unknown";
  return found.low ? "fail" : "warn";
}

constexpr std::size_t kInWords = 4;  // causes that a sentence names

/// "a NIC: its cable and its slot at 36 % (1 of 16 alike)".
std::string class_words(const accuracy::Suspect& s, double factor) {
  return s.alike.size() > 1 ? fmt::format("{} (1 of {} alike)", words_of(s, factor), s.alike.size())
                            : words_of(s, factor);
}

/// The causes of a rank, which the table cannot tell apart.
std::string tied_words(const accuracy::Culprit& c) {
  std::string out;
  for (std::size_t i = 0; i < c.faults.size() && i < kInWords; ++i)
    out += (i == 0 ? "" : "; ") + class_words(c.faults[i], c.factors[i]);
  if (c.faults.size() > kInWords) out += fmt::format("; or {} more below", c.faults.size() - kInWords);
  return out;
}

/// Faults of the whole machine whose times differ from the table's: "; excluded: tcp-fallback, single-rail".
std::string excluded_words(const accuracy::FaultSearchResult& found) {
  std::vector<std::string> rules;
  for (const accuracy::Culprit& c : found.ranked)
    for (const accuracy::Suspect& s : c.faults)
      if (s.whole() && s.rule != "nccl-setting" && std::find(rules.begin(), rules.end(), s.rule) == rules.end())
        rules.push_back(s.rule);
  std::erase_if(rules, [&](const std::string& rule) {
    return std::any_of(found.ranked.begin(), found.ranked.end(), [&](const accuracy::Culprit& c) {
      return c.confidence >= kWorthListing &&
             std::any_of(c.faults.begin(), c.faults.end(), [&](const accuracy::Suspect& s) { return s.rule == rule; });
    });
  });
  return rules.empty() ? "" : "; excluded: " + comma_list(rules);
}

/// What is excluded, and what the times look like.
std::string misfit_of(const accuracy::FaultSearchResult& found) {
  constexpr double kScatters = 1.15;
  const accuracy::Culprit& first = found.ranked.front();
  std::string out = fmt::format(
      "cannot tell: none of the known faults explains these times; the closest, {}, gives {:.2g} times the measured "
      "time "
      "of large sizes",
      words_of(first.faults.front(), first.factors.front()), std::exp(-first.off));
  if (found.scatter > kScatters)
    out += fmt::format(
        "; neighbouring sizes scatter by {:.2g} times, as with congestion, lost packets (PFC) or other jobs",
        found.scatter);
  return out + excluded_words(found);
}

std::string explanation_of(const accuracy::FaultSearchResult& found) {
  if (!found.fits) return misfit_of(found);
  if (!found.told)
    return "cannot tell: links within 8 % of their rates and launches of 0.7 to 1.5 times explain these times as well "
           "as any fault";
  const accuracy::Culprit& first = found.ranked.front();
  if (found.named) return class_words(first.faults.front(), first.factors.front());
  if (first.faults.size() > 1)
    return "cannot tell which of these, as all give the same times: " + tied_words(first) + excluded_words(found);
  return fmt::format("cannot tell, most likely {} ({:.0f} %){}", tied_words(first), 100 * first.confidence,
                     excluded_words(found));
}

/// Of large sizes, if one of the two places is clearly slower: no link does that.
std::string place_words(double in_place) {
  constexpr double kClear = 1.25;
  if (in_place < kClear && in_place > 1 / kClear) return {};
  return in_place > 1 ? fmt::format(
                            "; in place takes {:.2g} times out of place, which no slow link explains: look at "
                            "memory registration and other jobs, and measure again",
                            in_place)
                      : fmt::format(
                            "; out of place takes {:.2g} times in place, which no slow link explains: look at "
                            "memory registration and other jobs, and measure again",
                            1 / in_place);
}

void add_candidates(const accuracy::Culprit& c, std::uint64_t rank, std::vector<FaultCandidate>& out) {
  for (std::size_t i = 0; i < c.faults.size(); ++i) {
    const accuracy::Suspect& s = c.faults[i];
    out.push_back({rank, s.rule, selector_of(s), s.alike, c.factors[i], c.confidences[i], words_of(s, c.factors[i]),
                   accuracy::flags_of(s, c.factors[i]), c.misfit, c.confidence, c.slower_percent});
  }
}

FaultFinding finding_of(const accuracy::FaultSearchResult& search, const FaultFindings& found) {
  const accuracy::Culprit& first = search.ranked.front();
  const accuracy::Suspect& s = first.faults.front();
  FaultFinding out;
  out.rule = search.named ? s.rule : "cannot-tell";
  out.severity = severity_of(found);
  if (search.named && s.alike.size() <= kMostAlike) out.part = selector_of(s);
  for (std::size_t i = 0; i < search.ranked.size(); ++i) {
    if (i >= kListed && search.ranked[i].confidence < kWorthListing) break;
    add_candidates(search.ranked[i], i + 1, out.candidates);
  }
  out.explanation = explanation_of(search) + place_words(found.in_place);
  out.cost_percent = first.slower_percent;
  out.sound_confidence = search.sound_confidence;
  return out;
}

}  // namespace

FaultFindings fault_findings(const accuracy::FaultSearchResult* search, const accuracy::Expectation& e) {
  FaultFindings out;
  out.findings.emplace();
  out.unseen_parts.emplace();
  out.next.emplace();
  out.low = e.table.verdict == accuracy::Verdict::kLow;
  out.searched = search != nullptr;
  if (search == nullptr || search->ranked.empty()) return out;
  out.told = search->told;
  out.named = search->named;
  out.in_place = e.in_place;
  out.fits = search->fits;
  out.findings->push_back(finding_of(*search, out));
  out.unseen_parts = search->unseen;
  for (const accuracy::NextMeasurement& m : accuracy::next_measurements(*search))
    out.next->push_back({m.tells, m.command});
  return out;
}

}  // namespace busbar::questions
