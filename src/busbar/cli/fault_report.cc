#include "busbar/cli/fault_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar {
namespace {

constexpr std::size_t kShown = 6;       // candidates
constexpr double kWorthShowing = 0.01;  // of the likelihood, to be shown

std::string words_of(const Suspect& s, double factor) {
  if (factor == 0 && !s.whole()) return s.words + ": dead";
  return factor < 1 && factor > 0 ? fmt::format("{} at {:.0f} %", s.words, 100 * factor) : s.words;
}

/// "node2.nic0" or "node2.nic0 or 31 like it".
std::string part_of(const Suspect& s) {
  if (s.whole()) return "whole machine";
  return s.alike.size() > 1 ? fmt::format("{} or {} like it", s.part, s.alike.size() - 1) : s.part;
}

/// fail: named and low; warn: named, but within what healthy machines show; unknown: not named.
const char* severity_of(const FaultSearchResult& found, const Expectation& e) {
  if (!found.named) return "unknown";
  return e.table.verdict == Verdict::kLow ? "fail" : "warn";
}

std::string explanation_of(const FaultSearchResult& found) {
  if (!found.told)
    return "cannot tell: links within 8 % of their rates and launches of 0.7 to 1.5 times explain these times as well "
           "as "
           "any fault";
  if (!found.named) return "cannot tell which: several faults explain these times";
  return words_of(found.ranked.front().faults.front(), found.ranked.front().factors.front());
}

Json candidates_of(const FaultSearchResult& found) {
  Json out = Json::array();
  std::size_t rank = 0;
  for (const Culprit& c : found.ranked) {
    if (rank++ >= kShown && c.confidence < kWorthShowing) break;
    for (std::size_t i = 0; i < c.faults.size(); ++i) {
      const Suspect& s = c.faults[i];
      out.push_back({{"rank", rank},
                     {"rule", s.rule},
                     {"part", s.whole() ? Json(nullptr) : Json(s.part)},
                     {"alike", s.alike},
                     {"factor", c.factors[i]},
                     {"confidence", c.confidences[i]},
                     {"explanation", words_of(s, c.factors[i])},
                     {"flags", flags_of(s, c.factors[i])},
                     {"misfit", c.misfit}});
    }
  }
  return out;
}

}  // namespace

void add_findings(Json& j, const FaultSearchResult* found, const Expectation& e) {
  j["findings"] = Json::array();
  j["unseen_parts"] = Json::array();
  j["next"] = Json::array();
  if (found == nullptr || found->ranked.empty()) return;
  const Culprit& first = found->ranked.front();
  const Suspect& s = first.faults.front();
  j["findings"].push_back({{"rule", found->named ? s.rule : std::string("cannot-tell")},
                           {"severity", severity_of(*found, e)},
                           {"part", found->named && !s.whole() ? Json(s.part) : Json(nullptr)},
                           {"candidates", candidates_of(*found)},
                           {"explanation", explanation_of(*found)},
                           {"cost_percent", first.slower_percent},
                           {"sound_confidence", found->sound_confidence}});
  j["unseen_parts"] = found->unseen;
  for (const NextMeasurement& m : next_measurements(*found))
    j["next"].push_back({{"tells", m.tells}, {"command", m.command}});
}

void add_findings(Document& d, const FaultSearchResult* found, const Expectation& e) {
  if (found == nullptr) return;
  if (found->ranked.empty()) {
    d.add(Paragraph{"No single fault changes these times; compare sizes, nodes and logs."});
    return;
  }
  if (!found->named) {
    std::string words = explanation_of(*found);
    words.front() = 'C';
    d.add(Paragraph{words + "."});
    if (!found->told) return;
  } else if (e.table.verdict != Verdict::kLow) {
    d.add(Paragraph{"Healthy machines differ as much; if this one is at fault, then so:"});
  }
  Table t{"Faults that explain the times",
          {to_left("fault"), to_left("part"), "confidence (%)", "slower (%)", to_left("try")}};
  for (const Culprit& c : found->ranked) {
    if (t.rows.size() >= kShown || c.confidence < kWorthShowing) break;
    for (std::size_t i = 0; i < c.faults.size(); ++i)
      t.rows.push_back({words_of(c.faults[i], c.factors[i]), part_of(c.faults[i]),
                        (i == 0 ? "" : "same, ") + fmt::format("{:.0f}", 100 * c.confidences[i]),
                        i == 0 ? fmt::format("{:.0f}", c.slower_percent) : "same",
                        flags_of(c.faults[i], c.factors[i])});
  }
  t.note = "same: these results do not tell this fault from the one above it.";
  if (!t.rows.empty()) d.add(t);
  if (!found->unseen.empty())
    d.add(Paragraph{"Would not show here, even at a tenth of the rate, these and parts like them: " +
                    comma_list(found->unseen) + "."});
  const std::vector<NextMeasurement> next = next_measurements(*found);
  for (const NextMeasurement& m : next) d.add(Paragraph{fmt::format("To tell {}: {}", m.tells, m.command)});
  if (!next.empty()) d.add(Paragraph{"Then: busbar localize FILE..., with these files and this machine."});
}

}  // namespace busbar
