#include "busbar/views/fault_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "busbar/base/text.h"

namespace busbar::views {
namespace {

using questions::FaultCandidate;
using questions::FaultFindings;

constexpr std::size_t kShownFaults = 6;
constexpr double kWorthShowing = 0.01;  // of the likelihood

/// "node2.nic0" or "node2.nic0 or 31 like it".
std::string suspected_part(const FaultCandidate& c) {
  if (!c.part) return "whole machine";
  return c.alike.size() > 1 ? fmt::format("{} or {} like it", *c.part, c.alike.size() - 1) : *c.part;
}

report::Table faults_table(const std::vector<FaultCandidate>& candidates, bool fits) {
  report::Table t{
      fits ? "Faults that explain the times" : "Faults that come closest",
      {report::to_left("fault"), report::to_left("part"), "confidence (%)", "slower (%)", report::to_left("try")}};
  std::uint64_t rank = 0;
  for (const FaultCandidate& c : candidates) {
    const bool first = c.rank != rank;
    if (first && (t.rows.size() >= kShownFaults || c.likelihood < kWorthShowing)) break;
    rank = c.rank;
    t.rows.push_back({c.explanation, suspected_part(c),
                      (first ? "" : "same, ") + fmt::format("{:.0f}", 100 * c.confidence),
                      first ? fmt::format("{:.0f}", c.slower_percent) : "same", c.flags});
  }
  const bool same = std::any_of(t.rows.begin(), t.rows.end(), [](const auto& row) { return row[3] == "same"; });
  if (same) t.note = "same: these results do not tell this fault from the one above it.";
  return t;
}

}  // namespace

void add_findings(const FaultFindings& found, report::Document& d) {
  if (!found.searched) return;
  if (found.findings->empty()) {
    d.add(report::Paragraph{"No single fault changes these times; compare sizes, nodes and logs."});
    return;
  }
  const questions::FaultFinding& finding = found.findings->front();
  if (!found.named && !found.low) {
    d.add(report::Paragraph{
        "No fault is named, as healthy machines differ as much; --baseline compares with your own results."});
    return;
  }
  std::string words = finding.explanation;
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  if (found.named && !found.low)
    words = "Healthy machines differ as much; if this one is at fault, then so: " + finding.explanation;
  d.add(report::Paragraph{words + "."});
  if (!found.named && found.fits && !found.told) return;
  for (const questions::TellingMeasurement& m : *found.next)
    d.add(report::Paragraph{fmt::format("To tell {}: {}", m.tells, m.command)});
  if (!found.next->empty())
    d.add(report::Paragraph{"Then: busbar localize FILE..., with these files and this machine."});
  if (report::Table t = faults_table(finding.candidates, found.fits); !t.rows.empty()) d.add(std::move(t));
  if (!found.unseen_parts->empty())
    d.add(report::Paragraph{"Would not show here, even at a tenth of the rate, these and parts like them: " +
                            comma_list(*found.unseen_parts) + "."});
}

}  // namespace busbar::views
