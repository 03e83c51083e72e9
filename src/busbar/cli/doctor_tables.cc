#include "busbar/cli/doctor_tables.h"

#include <fmt/core.h>

#include <cmath>

#include "busbar/accuracy/results_meaning.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/expect_options.h"
#include "busbar/cli/fault_report.h"

namespace busbar {
namespace {

Result<JudgedTable> judge(const std::string& file, const CommonOptions& common, const std::string& cluster,
                          const std::string& op) {
  JudgedTable out;
  out.file = file;
  out.cluster = cluster;
  const Result<MeasuredResults> results = read_results(file);
  if (!results.ok()) {
    out.refused = results.error().message;
    return out;
  }
  out.proposed = cluster.empty();
  if (out.proposed) out.cluster = proposed_cluster(*results);
  if (op.empty()) {
    BUSBAR_ASSIGN(out.op, collective_of(*results, 0));  // also without a machine: the question comes first
  }
  if (out.cluster.empty()) {
    out.refused = "the file does not name the machine; add --cluster dgx-h100:2, or a file";
    return out;
  }
  BUSBAR_ASSIGN(const ExpectOptions options, expect_options(common, out.cluster, op, {}, *results));
  out.op = options.op;
  BUSBAR_ASSIGN(out.expected, expect_results(*results, options));
  if (is_searched(*out.expected)) {
    BUSBAR_ASSIGN(out.found, search_faults(out.expected->rows, options));
  }
  return out;
}

void add_table(Document& d, const JudgedTable& t) {
  if (!t.expected) {
    d.add(Paragraph{fmt::format("{}: the table was not judged: {}.", t.file, t.refused)});
    return;
  }
  const TableVerdict& v = t.expected->table;
  d.add(Heading{fmt::format("{}: {} on {}{}", t.file, name_of(t.op), t.cluster,
                            t.proposed ? ", the machine that the file names" : "")});
  d.add(Paragraph{fmt::format(
      "The table is {}{}. Sizes from {} on take {:.0f} % {} than expected; from {:.0f} % longer on counts as low.",
      name_of(v.verdict), v.why.empty() ? "" : ": " + v.why, format_binary_size(v.plateau_from_bytes),
      std::abs(v.plateau_percent), v.plateau_percent < 0 ? "less" : "longer", v.threshold_percent)});
  if (t.found) add_findings(d, &*t.found, *t.expected);
  d.add(Paragraph{
      fmt::format("Each size: busbar expect {} --cluster {} --collective {}", t.file, t.cluster, name_of(t.op))});
}

}  // namespace

Result<std::vector<JudgedTable>> judge_tables(const Evidence& evidence, const CommonOptions& common,
                                              const std::string& cluster, const std::string& op) {
  std::vector<JudgedTable> out;
  for (const std::uint32_t i : evidence.named("table.header")) {
    const EvidenceFile& file = evidence.files()[static_cast<std::size_t>(evidence.facts()[i].file)];
    if (!out.empty() && out.back().file == file.name) continue;
    if (file.name == "-") {
      out.push_back({});
      out.back().file = file.name;
      out.back().refused = "a table on standard input is not judged; write it to a file";
      continue;
    }
    BUSBAR_ASSIGN(JudgedTable table, judge(file.name, common, cluster, op));
    out.push_back(std::move(table));
  }
  return out;
}

bool table_fails(const JudgedTable& t) { return t.expected && t.expected->table.verdict == Verdict::kLow; }

Json to_json(const JudgedTable& t) {
  Json j{{"file", t.file},
         {"cluster", t.cluster.empty() ? Json(nullptr) : Json(t.cluster)},
         {"cluster_proposed", t.proposed},
         {"refused", t.refused.empty() ? Json(nullptr) : Json(t.refused)}};
  if (!t.expected) return j;
  j["collective"] = name_of(t.op);
  j["verdict"] = name_of(t.expected->table.verdict);
  j["why"] = t.expected->table.why;
  j["slower_percent"] = t.expected->table.plateau_percent;
  j["threshold_percent"] = t.expected->table.threshold_percent;
  add_findings(j, t.found ? &*t.found : nullptr, *t.expected);
  return j;
}

void add_tables(Document& d, const std::vector<JudgedTable>& tables) {
  Document low{"", "", {}}, others{"", "", {}};
  for (const JudgedTable& t : tables) add_table(table_fails(t) ? low : others, t);
  d.blocks.insert(d.blocks.begin() + 1, others.blocks.begin(), others.blocks.end());
  d.blocks.insert(d.blocks.begin(), low.blocks.begin(), low.blocks.end());
}

}  // namespace busbar
