#include <fmt/core.h>

#include <limits>

#include "busbar/popular/claim.h"
#include "busbar/spec/reading.h"

namespace busbar::popular {
namespace {

constexpr std::string_view kArrow = " -> ";

Result<std::vector<PopularClaim::Term>> read_terms(const YamlNode& map) {
  std::vector<PopularClaim::Term> out;
  for (std::size_t i = 0; i < map.size(); ++i) {
    BUSBAR_ASSIGN(const std::string line, map.item(i).as_string());
    const std::size_t arrow = line.find(kArrow);
    if (arrow == std::string::npos)
      return map.item(i).error(fmt::format("'{}' has no path; write COMMAND -> PATH", line));
    out.push_back({map.key(i), line.substr(0, arrow), line.substr(arrow + kArrow.size())});
  }
  return out;
}

Result<PopularClaim> read_claim(const YamlNode& node) {
  constexpr double kMost = std::numeric_limits<double>::max();
  MapReader reader(node);
  PopularClaim c;
  double value = 0;
  reader.required("id", &YamlNode::as_string, c.id);
  reader.required("said", &YamlNode::as_string, c.said);
  reader.optional("value", &YamlNode::as_number, value, 0, kMost);
  reader.optional("unit", &YamlNode::as_string, c.unit);
  reader.optional("both_directions", &YamlNode::as_bool, c.both_directions);
  reader.optional("take", &read_terms, c.terms);
  reader.optional("computed", &YamlNode::as_string, c.computed);
  reader.optional("up_to", &YamlNode::as_string, c.up_to);
  reader.optional("holds", &YamlNode::as_string, c.holds);
  reader.optional("depends", &YamlNode::as_string, c.depends);
  reader.optional("external", &YamlNode::as_string, c.external);
  reader.optional("why", &YamlNode::as_string, c.why);
  BUSBAR_RETURN_IF_ERROR(reader.finish());
  if (node.find("value")) c.value = value;
  if (c.computed.empty() == c.external.empty())
    return node.error("needs one of computed (a formula) and external (who decides)");
  if (c.external.empty() && !c.value && c.holds.empty() && c.depends.empty())
    return node.error("needs value, holds or depends: without one there is nothing to judge");
  return c;
}

}  // namespace

Result<PopularText> read_popular_text(const YamlDocument& document) {
  MapReader reader = spec::sourced(document.root());
  PopularText out;
  out.text = document.text();
  reader.required("name", &YamlNode::as_string, out.name);
  reader.required("title", &YamlNode::as_string, out.title);
  const YamlNode list = reader.required("claims");
  BUSBAR_RETURN_IF_ERROR(reader.finish());
  BUSBAR_RETURN_IF_ERROR(spec::read_items(list, &read_claim, out.claims));
  return out;
}

}  // namespace busbar::popular
