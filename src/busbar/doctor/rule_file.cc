#include <iterator>
#include <limits>

#include "busbar/base/text.h"
#include "busbar/doctor/rule.h"
#include "busbar/spec/reading.h"

namespace busbar::doctor {
namespace {

/// A text, or a list of texts.
Result<std::vector<std::string>> as_texts(const YamlNode& node) {
  std::vector<std::string> out;
  if (node.kind() == YamlNode::Kind::kSequence) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      BUSBAR_ASSIGN(std::string text, node.item(i).as_string());
      out.push_back(std::move(text));
    }
    return out;
  }
  BUSBAR_ASSIGN(std::string text, node.as_string());
  out.push_back(std::move(text));
  return out;
}

Result<RuleBound> as_bound(const YamlNode& node, bool count) {
  RuleBound out;
  out.count = count;
  if (!is_number(node.scalar(), out.number)) {
    BUSBAR_ASSIGN(out.fact, node.as_string());
  }
  return out;
}

Result<Clause> read_clause(const YamlNode& node) {
  Clause c;
  MapReader r(node);
  r.required("fact", &YamlNode::as_string, c.fact);
  r.optional("subject", &as_texts, c.subject);
  r.optional("subject_not", &as_texts, c.subject_not);
  r.optional("is", &as_texts, c.is);
  r.optional("is_not", &as_texts, c.is_not);
  r.optional("below", &as_bound, c.below, false);
  r.optional("above", &as_bound, c.above, false);
  r.optional("share", &YamlNode::as_number, c.share, 0, 1);
  r.optional("below_median", &YamlNode::as_number, c.below_median, 0, 1);
  r.optional("count_below", &as_bound, c.count_below, true);
  r.optional("count_above", &as_bound, c.count_above, true);
  r.optional("differs", &YamlNode::as_bool, c.differs);
  r.optional("none", &YamlNode::as_bool, c.none);
  const auto same = r.optional("same");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (same) {
    BUSBAR_ASSIGN(c.same, spec::as_enum<Scope>(*same, Scope::kFile, &name_of, "scope"));
  }
  return c;
}

Result<RuleCost> read_cost(const YamlNode& node) {
  RuleCost out;
  MapReader r(node);
  r.optional("fault", &as_texts, out.faults);
  r.optional("factor", &YamlNode::as_number, out.factor, 0, 1);
  r.optional("sound", &YamlNode::as_string, out.sound);
  const auto op = r.optional("collective");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (out.faults.empty() == out.sound.empty()) return node.error("needs either 'fault' or 'sound'");
  if (op) {
    const Result<collectives::Collective> parsed = collectives::parse_collective(op->scalar());
    if (!parsed.ok()) return op->error(parsed.error().message);
    out.op = *parsed;
  }
  return out;
}

Result<Rule> read_rule(const YamlNode& node) {
  Rule rule;
  MapReader r(node);
  r.required("id", &YamlNode::as_string, rule.id);
  r.required("title", &YamlNode::as_string, rule.title);
  const YamlNode severity = r.required("severity");
  r.optional("symptom", &YamlNode::as_bool, rule.symptom);
  r.optional("alone", &YamlNode::as_bool, rule.alone);
  r.required("judged_by", &as_texts, rule.judged_by);
  const YamlNode when = r.required("when");
  const auto unless = r.optional("unless");
  r.required("explanation", &YamlNode::as_string, rule.explanation);
  r.required("fix", &as_texts, rule.fix);
  r.required("references", &as_texts, rule.references);
  r.optional("part", &YamlNode::as_string, rule.part);
  r.optional("hides", &as_texts, rule.hides);
  r.optional("cost", &read_cost, rule.cost);
  r.required("shows", &as_texts, rule.shows);
  r.required("silent", &as_texts, rule.silent);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_ASSIGN(rule.severity, spec::as_enum<Severity>(severity, Severity::kFail, &name_of, "severity"));
  BUSBAR_RETURN_IF_ERROR(spec::read_items(when, &read_clause, rule.when));
  if (unless) BUSBAR_RETURN_IF_ERROR(spec::read_items(*unless, &read_clause, rule.unless));
  if (rule.when.empty() || rule.when.front().none) return when.error("needs a first clause that finds facts");
  return rule;
}

}  // namespace

const char* name_of(Severity severity) {
  constexpr const char* kNames[] = {"note", "warn", "fail"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Severity::kFail) + 1);
  return kNames[static_cast<std::size_t>(severity)];
}

const char* name_of(Scope scope) {
  constexpr const char* kNames[] = {"anywhere", "host", "subject", "name", "value", "file"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Scope::kFile) + 1);
  return kNames[static_cast<std::size_t>(scope)];
}

Result<std::vector<Rule>> read_rules(const YamlDocument& document) {
  std::string name, title;
  MapReader r = spec::sourced(document.root());
  r.required("name", &YamlNode::as_string, name);
  r.required("title", &YamlNode::as_string, title);
  const YamlNode list = r.required("rules");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  std::vector<Rule> out;
  BUSBAR_RETURN_IF_ERROR(spec::read_items(list, &read_rule, out));
  return out;
}

Result<std::vector<Rule>> load_rules(const spec::Catalog& catalog) {
  std::vector<Rule> out;
  for (const std::string& name : catalog.names("rules")) {
    BUSBAR_ASSIGN(const YamlDocument document, catalog.load("rules", name));
    BUSBAR_ASSIGN(std::vector<Rule> rules, read_rules(document));
    std::move(rules.begin(), rules.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace busbar::doctor
