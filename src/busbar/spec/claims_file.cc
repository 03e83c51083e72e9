#include "busbar/spec/claims_file.h"

#include <fmt/core.h>

#include "busbar/spec/reading.h"

namespace busbar::spec {
namespace {

Result<Claim> read_claim(const YamlNode& node) {
  MapReader reader(node);
  Claim c;
  std::string measure;
  reader.required("measure", &YamlNode::as_string, measure);
  reader.required("said_of", &YamlNode::as_string, c.said_of);
  reader.required("low_percent", &YamlNode::as_number, c.low_percent, 0, 100);
  reader.required("high_percent", &YamlNode::as_number, c.high_percent, 0, 100);
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
  BUSBAR_RETURN_IF_ERROR(read_items(list, &read_claim, out.claims));
  return out;
}

}  // namespace busbar::spec
