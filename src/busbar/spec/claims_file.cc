#include "busbar/spec/claims_file.h"

#include <fmt/core.h>

namespace busbar {
namespace {

void take_percent(MapReader& from, const char* key, double& out) {
  const YamlNode node = from.required(key);
  if (!from.ok()) return;
  const Result<double> value = node.as_number(0, 100);
  if (value.ok())
    out = *value;
  else
    from.fail(value.error());
}

Result<Claim> read_claim(const YamlNode& node) {
  MapReader reader(node);
  Claim c;
  std::string measure;
  reader.required("measure", &YamlNode::as_string, measure);
  reader.required("said_of", &YamlNode::as_string, c.said_of);
  take_percent(reader, "low_percent", c.low_percent);
  take_percent(reader, "high_percent", c.high_percent);
  BUSBAR_RETURN_IF_ERROR(reader.finish());
  if (c.high_percent < c.low_percent)
    return node.error(
        fmt::format("a band from {} to {} % holds nothing; the lower end comes first", c.low_percent, c.high_percent));
  for (const ClaimMeasure m : {ClaimMeasure::kEfficiency, ClaimMeasure::kExposedTp}) {
    c.measure = m;
    if (measure == name_of(m)) return c;
  }
  return node.find("measure")->error(fmt::format("'{}' is not measured; write efficiency or exposed_tp", measure));
}

}  // namespace

const char* name_of(ClaimMeasure m) { return m == ClaimMeasure::kEfficiency ? "efficiency" : "exposed_tp"; }

Result<Claims> read_claims(const YamlDocument& document) {
  MapReader reader(document.root());
  Claims out;
  out.text = document.text();
  std::string name, confidence;
  reader.required("name", &YamlNode::as_string, name);
  reader.required("source", &YamlNode::as_string, out.source);
  reader.optional("confidence", &YamlNode::as_string, confidence);
  const YamlNode list = reader.required("claims");
  BUSBAR_RETURN_IF_ERROR(reader.finish());
  if (list.kind() != YamlNode::Kind::kSequence || list.size() == 0)
    return list.error("needs a list of claims, each with measure, said_of, low_percent and high_percent");
  for (std::size_t i = 0; i < list.size(); ++i) {
    BUSBAR_ASSIGN(Claim c, read_claim(list.item(i)));
    out.claims.push_back(std::move(c));
  }
  return out;
}

}  // namespace busbar
