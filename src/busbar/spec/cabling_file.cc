#include "busbar/spec/internal/cabling_file.h"

#include <fmt/core.h>

#include <charconv>

namespace busbar::spec {
namespace {

constexpr double kLongest = 100'000;        // m: longer than any building
constexpr double kStrongest = 1e6;          // W: more than any part draws
constexpr std::int64_t kMostRacks = 1'000;  // nodes in a rack, racks in a row, racks of a node

/// Catalogue figures are plain values or {value: 17W, source: ...}.
YamlNode value_of(const YamlNode& figure) {
  const auto value = figure.kind() == YamlNode::Kind::kMap ? figure.find("value") : std::nullopt;
  return value ? *value : figure;
}

Result<topology::CablePart> read_part(const YamlNode& name, Reading& reading) {
  topology::CablePart out;
  BUSBAR_ASSIGN(out.name, name.as_string());
  BUSBAR_ASSIGN(const YamlNode map, reading.resolve(name, "optics"));
  MapReader r = sourced(map);
  r.optional("name");
  r.optional("price_usd");
  r.optional("sold_as");
  const YamlNode medium = r.required("medium"), rate = r.required("rate"), reach = r.required("reach_m"),
                 power = r.required("power");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_ASSIGN(out.medium, as_enum(medium, topology::kLastMedium, &topology::name_of, "medium"));
  BUSBAR_ASSIGN(out.rate, value_of(rate).as_rate());
  BUSBAR_ASSIGN(out.reach_m, value_of(reach).as_number(0, kLongest));
  BUSBAR_ASSIGN(out.power_w, as_power(value_of(power)));
  reading.note(fmt::format("{} {:g} W per end", out.name, out.power_w), power);
  reading.note(fmt::format("{} reaches {:g} m", out.name, out.reach_m), reach);
  return out;
}

}  // namespace

Result<double> as_power(const YamlNode& node) {
  BUSBAR_ASSIGN(const std::string word, node.as_string());
  double watts = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), watts);
  std::string_view unit(end, static_cast<std::size_t>(word.data() + word.size() - end));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit == "kW") watts *= 1e3;
  if (code != std::errc() || (unit != "W" && unit != "kW") || !(watts >= 0 && watts <= kStrongest)) {
    return node.error(fmt::format("'{}' is not a power; write 17W", word));
  }
  return watts;
}

Result<std::vector<topology::CablePart>> read_cable_parts(const YamlNode& list, Reading& reading) {
  if (list.kind() != YamlNode::Kind::kSequence || list.size() == 0) {
    return list.error("expected a list of names in catalog/optics, the shortest first: [dac-100g-lanes, dr4-400g]");
  }
  std::vector<topology::CablePart> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    BUSBAR_ASSIGN(topology::CablePart part, read_part(list.item(i), reading));
    if (part.medium == topology::Medium::kCoPackaged && i + 1 == list.size()) {
      return list.item(i).error("is co-packaged in switches; name a part for the NIC's end after it");
    }
    out.push_back(std::move(part));
  }
  return out;
}

Result<std::vector<topology::CablePart>> usual_cable_parts(Reading& reading) {
  BUSBAR_ASSIGN(const YamlDocument usual,
                YamlDocument::parse("[dac-100g-lanes, sr4-400g, osfp-800g-twin]", "the usual cables"));
  return read_cable_parts(usual.root(), reading);
}

Result<double> read_switch_power(const YamlNode& name, Reading& reading) {
  BUSBAR_ASSIGN(const YamlNode map, reading.resolve(name, "switches"));
  MapReader r = sourced(map);
  for (const char* key : {"name", "ports", "total_rate", "latency", "price_usd"}) r.optional(key);
  const auto power = r.optional("power");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (!power) return 0.0;
  BUSBAR_ASSIGN(const double watts, as_power(value_of(*power)));
  reading.note(fmt::format("{} {:g} W", name.scalar(), watts), *power);
  return watts;
}

Status read_hall(const YamlNode& map, topology::CablingRules& out) {
  MapReader r = sourced(map);
  r.optional("nodes_per_rack", &YamlNode::as_int, out.nodes_per_rack, 1, kMostRacks);
  r.optional("racks_per_node", &YamlNode::as_int, out.racks_per_node, 1, kMostRacks);
  r.optional("racks_per_row", &YamlNode::as_int, out.racks_per_row, 1, kMostRacks);
  r.optional("rack_m", &YamlNode::as_number, out.rack_m, 0, kLongest);
  r.optional("row_m", &YamlNode::as_number, out.row_m, 0, kLongest);
  r.optional("riser_m", &YamlNode::as_number, out.riser_m, 0, kLongest);
  r.optional("in_rack_m", &YamlNode::as_number, out.in_rack_m, 0, kLongest);
  return r.finish();
}

}  // namespace busbar::spec
