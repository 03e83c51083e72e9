// Which part of a machine is slow.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/questions/localize_question.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::Finding;
using questions::LocalizeRequest;
using questions::LocalizeResult;
using questions::PartTime;

constexpr std::size_t kShownParts = 5;

std::string parts_in_words(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < std::min(parts.size(), kShownParts); ++i) out += (i ? ", " : "") + parts[i];
  return parts.size() > kShownParts ? fmt::format("{} and {} more", out, parts.size() - kShownParts) : out;
}

report::Table suspects_table(const LocalizeResult& r) {
  report::Table out{"Parts that explain the slow measurements",
                    {report::to_left("part"), "confidence (%)", "measurements against it", report::to_left("what")}};
  for (const LocalizeResult::Alike& p : r.found)
    if (out.rows.size() < kShownParts)
      out.rows.push_back(
          {parts_in_words(p.parts), fmt::format("{:.0f}", 100 * p.confidence), std::to_string(p.against), p.words});
  return out;
}

report::Table slow_table(const LocalizeResult& r) {
  constexpr std::size_t kRows = 20;
  report::Table out{"Slow measurements",
                    {report::to_left("measurement"), "slower than its like (%)", report::to_left("file")}};
  for (const PartTime& m : *r.measurements)
    if (m.slow) out.rows.push_back({m.name, fmt::format("{:.0f}", m.slower_percent), m.file});
  if (out.rows.size() > kRows) {
    out.note = fmt::format("{} more in --json.", out.rows.size() - kRows);
    out.rows.resize(kRows);
  }
  return out;
}

report::Document document_of_times(const LocalizeResult& r) {
  report::Document d{"Which part of " + *r.cluster + " is slow", {}, {}};
  d.add(report::Highlight{r.summary});
  if (report::Table parts = suspects_table(r); !parts.rows.empty()) d.add(std::move(parts));
  if (r.named) d.add(report::Paragraph{fmt::format("To do: {}.", r.findings.front().fix)});
  if (report::Table slow = slow_table(r); !slow.rows.empty()) d.add(std::move(slow));
  return d;
}

report::Document document_of_cables(const LocalizeResult& r) {
  constexpr std::size_t kMostCables = 8;
  report::Document d{"Cables that differ from their like", {}, {}};
  if (r.findings.empty()) {
    d.add(report::Highlight{"All cables are like their like: none is slow or missing."});
    return d;
  }
  report::Table t{d.title, {report::to_left("part"), report::to_left("is"), report::to_left("evidence"), "line"}};
  for (const Finding& f : r.findings) {
    if (t.rows.size() == kMostCables) break;
    const std::int64_t line = f.evidence.front().line;
    t.rows.push_back(
        {*f.part, f.rule == "missing-cable" ? "missing" : "slow", f.explanation, line > 0 ? std::to_string(line) : ""});
  }
  if (r.findings.size() > kMostCables)
    t.note = fmt::format("and {} more; --json lists all", r.findings.size() - kMostCables);
  d.add(report::Highlight{fmt::format("{} cables are slow or missing.", r.findings.size())});
  d.add(std::move(t));
  d.add(report::Paragraph{fmt::format("To do: {}.", r.findings.front().fix)});
  return d;
}

report::Document localize_document(const LocalizeRequest&, const LocalizeResult& r) {
  return r.measurements ? document_of_times(r) : document_of_cables(r);
}

}  // namespace

View localize_view() { return make_view("localize", localize_document); }

}  // namespace busbar::views
