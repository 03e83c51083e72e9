// Logs and outputs of tools: any bytes are read as facts, and every rule can be judged on them.
#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/doctor/diagnose.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  static const Catalog catalog;
  static const FactTables tables = FactTables::load(catalog).value();
  static const std::vector<Rule> rules = load_rules(catalog).value();
  Evidence evidence;
  LineSource lines = LineSource::of_text(std::string_view(reinterpret_cast<const char*>(data), size), "input");
  tables.read(lines, evidence);
  const Diagnosis found = diagnose(evidence, rules, tables);
  // Each rule ends in one of three lists; findings about warnings that no rule knows come on top.
  const auto of_a_rule = std::count_if(found.findings.begin(), found.findings.end(), [](const Finding& f) {
    return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == f.rule; });
  });
  BUSBAR_CHECK(static_cast<std::size_t>(of_a_rule) + found.unknown.size() + found.ok.size() == rules.size());
  for (const Finding& f : found.findings) BUSBAR_CHECK(!f.evidence.empty()) << f.rule;
  return 0;
}
