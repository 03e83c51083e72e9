// Logs and outputs of tools: any bytes are read as facts, and every rule can be judged on them.
#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/doctor/diagnose.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  static const spec::Catalog catalog;
  static const doctor::FactTables tables = doctor::FactTables::load(catalog).value();
  static const std::vector<doctor::Rule> rules = doctor::load_rules(catalog).value();
  doctor::Evidence evidence;
  formats::LineSource lines =
      formats::LineSource::of_text(std::string_view(reinterpret_cast<const char*>(data), size), "input");
  tables.read(lines, evidence);
  const doctor::Diagnosis found = doctor::diagnose(evidence, rules, tables);
  // Each rule ends in one of three lists; findings about warnings that no rule knows come on top.
  const auto of_a_rule = std::count_if(found.findings.begin(), found.findings.end(), [](const doctor::Finding& f) {
    return std::any_of(rules.begin(), rules.end(), [&](const doctor::Rule& rule) { return rule.id == f.rule; });
  });
  BUSBAR_CHECK(static_cast<std::size_t>(of_a_rule) + found.unknown.size() + found.ok.size() == rules.size());
  for (const doctor::Finding& f : found.findings) BUSBAR_CHECK(!f.evidence.empty()) << f.rule;
  return 0;
}
