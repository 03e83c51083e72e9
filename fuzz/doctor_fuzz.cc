// Logs and outputs of tools: any bytes are read as facts, and every rule can be judged on them.
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
  BUSBAR_CHECK(found.findings.size() + found.unknown.size() + found.ok.size() == rules.size());
  for (const Finding& f : found.findings) BUSBAR_CHECK(!f.evidence.empty()) << f.rule;
  return 0;
}
