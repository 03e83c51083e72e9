#include "busbar/cli/doctor_report.h"

#include <fmt/core.h>

#include <cmath>
#include <tuple>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cli/log_report.h"

namespace busbar {
namespace {

constexpr std::size_t kMostLines = 3;    // of evidence per finding on the terminal
constexpr std::size_t kMostInJson = 50;  // the same in JSON

std::vector<std::string> first_of(std::vector<std::string> list) {
  if (list.size() > kMostInJson) list.resize(kMostInJson);
  return list;
}

Json to_json(const Finding& f) {
  Json j{{"rule", f.rule},
         {"title", f.title},
         {"severity", name_of(f.severity)},
         {"part", f.part.empty() ? Json(nullptr) : Json(f.part)},
         {"candidates", Json::array()},
         {"evidence", Json::array()},
         {"evidence_lines", f.evidence.size()},
         {"explanation", f.explanation},
         {"fix", f.fix},
         {"cost_percent", f.cost_percent ? Json(*f.cost_percent) : Json(nullptr)},
         {"cost_of", f.cost_of.empty() ? Json(nullptr) : Json(f.cost_of)},
         {"selectors", first_of(f.selectors)},
         {"flags", f.flags.empty() ? Json(nullptr) : Json(f.flags)},
         {"follows_from", f.follows_from.empty() ? Json(nullptr) : Json(f.follows_from)},
         {"references", f.references},
         {"page", "docs/rules.md#" + f.rule}};
  for (const FaultyPart& p : f.candidates) j["candidates"].push_back({{"part", p.part}, {"confidence", p.confidence}});
  for (const EvidenceLine& e : f.evidence) {
    if (j["evidence"].size() == kMostInJson) break;
    j["evidence"].push_back({{"file", e.file}, {"line", e.line}, {"text", e.text}});
  }
  return j;
}

std::string parts_of(const Finding& f) {
  std::string out;
  for (const FaultyPart& p : f.candidates) append_word(out, p.part);
  return out;
}

Facts to_facts(const Finding& f) {
  Facts out{fmt::format("[{}] {} ({})", name_of(f.severity), f.title, f.rule), {}};
  for (std::size_t i = 0; i < f.evidence.size() && i < kMostLines; ++i)
    out.items.emplace_back(i == 0 ? "evidence" : "",
                           fmt::format("{}:{}: {}", f.evidence[i].file, f.evidence[i].line, f.evidence[i].text));
  if (f.evidence.size() > kMostLines)
    out.items.emplace_back("", fmt::format("and {} more lines", f.evidence.size() - kMostLines));
  if (!f.candidates.empty()) out.items.emplace_back("part", parts_of(f));
  out.items.emplace_back("why", f.explanation);
  if (f.cost_percent)
    out.items.emplace_back("cost", fmt::format("{:+.0f} % time ({})", std::round(*f.cost_percent) + 0.0, f.cost_of));
  else if (!f.cost_of.empty())
    out.items.emplace_back("cost", f.cost_of);
  if (!f.flags.empty()) out.items.emplace_back("predict", "busbar collective ... " + f.flags);
  for (std::size_t i = 0; i < f.fix.size(); ++i) out.items.emplace_back(i == 0 ? "fix" : "", f.fix[i]);
  return out;
}

std::string summary_of(const Diagnosis& d) {
  std::size_t fails = 0, warns = 0, notes = 0;
  for (const Finding& f : d.findings)
    ++(f.severity == Severity::kFail ? fails : f.severity == Severity::kWarn ? warns : notes);
  if (d.findings.empty())
    return fmt::format("No rule found anything wrong: {} ok, {} not judged.", d.ok.size(), d.unknown.size());
  std::string counts;
  for (const auto& [n, one, many] : {std::tuple(fails, "fault", "faults"), std::tuple(warns, "warning", "warnings"),
                                     std::tuple(notes, "note", "notes")})
    if (n > 0) append_word(counts, fmt::format("{} {}", n, n == 1 ? one : many));
  const auto rules = [](std::size_t n) { return fmt::format("{} rule{}", n, n == 1 ? "" : "s"); };
  return fmt::format("{}: {}. {} found nothing, {} could not be judged.", counts, d.findings.front().title,
                     rules(d.ok.size()), rules(d.unknown.size()));
}

/// What to provide so that more rules can be judged, each way once.
Table unknown_table(const Diagnosis& d) {
  Table out{"Not judged", {to_left("to judge"), to_left("provide")}, {}, {}};
  for (const UnknownRule& u : d.unknown) {
    bool known = false;
    for (std::vector<std::string>& row : out.rows)
      if (row[1] == u.ask) row[0] += ", " + u.rule, known = true;
    if (!known) out.rows.push_back({u.rule, u.ask});
  }
  return out;
}

}  // namespace

Json to_json(const Diagnosis& d, const Evidence& evidence) {
  Json j{{"schema", "busbar.doctor/1"},
         {"findings", Json::array()},
         {"unknown", Json::array()},
         {"ok", d.ok},
         {"files", Json::array()}};
  for (const Finding& f : d.findings) j["findings"].push_back(to_json(f));
  for (const UnknownRule& u : d.unknown)
    j["unknown"].push_back({{"rule", u.rule}, {"title", u.title}, {"missing", u.missing}, {"ask", u.ask}});
  for (const EvidenceFile& f : evidence.files())
    j["files"].push_back({{"file", f.name},
                          {"lines", f.lines},
                          {"lines_with_facts", f.stated},
                          {"kinds", f.kinds},
                          {"stopped", f.stopped.empty() ? Json(nullptr) : Json(f.stopped)}});
  return j;
}

Document to_document(const Diagnosis& d, const Evidence& evidence, const std::string& typed,
                     const std::vector<LogComparison>& compared, const std::string& machine) {
  Document out{"Diagnosis", typed, {}};
  out.add(Highlight{summary_of(d)});
  for (const Finding& f : d.findings)
    if (f.follows_from.empty()) out.add(to_facts(f));
  for (const Finding& f : d.findings)
    if (!f.follows_from.empty())
      out.add(Paragraph{fmt::format("Follows from {}: {} ({}).", f.follows_from, f.title, f.rule)});
  for (const LogComparison& c : compared) add_comparison(c, machine, out);
  Table files{"Read", {to_left("file"), "lines", "used", to_left("kinds")}, {}, {}};
  for (const EvidenceFile& f : evidence.files()) {
    std::string kinds;
    for (const std::string& k : f.kinds) append_word(kinds, k);
    files.rows.push_back({f.name, std::to_string(f.lines), std::to_string(f.stated), kinds.empty() ? "none" : kinds});
    if (!f.stopped.empty())
      out.add(Paragraph{fmt::format("{} was read up to line {} only: {}.", f.name, f.lines, f.stopped)});
  }
  out.add(std::move(files));
  if (!d.unknown.empty()) out.add(unknown_table(d));
  return out;
}

}  // namespace busbar
