#include "busbar/spec/link_tables.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/spec/reading.h"

namespace busbar::spec {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kPcie5BytesPerS = 16 * 4e9;  // 16 lanes of 32 GT/s: PCI Express 5.0

/// A map's rate under `key`, and its efficiency.
Status read_rate(const YamlNode& map, const char* key, LinkRow& row) {
  const auto rate = map.find(key);
  if (!rate) return map.error(fmt::format("has no {}", key));
  BUSBAR_ASSIGN(const BytesPerSecond each, rate->as_rate());
  row.bytes_per_s = static_cast<double>(per_second(each)) * row.lanes;
  if (const auto efficiency = map.find("efficiency"); efficiency && efficiency->kind() == YamlNode::Kind::kScalar) {
    BUSBAR_ASSIGN(row.efficiency, efficiency->as_number(0, 1));
  }
  return {};
}

Status read_entry(const Catalog& catalog, const char* folder, const std::string& name, LinkRow& row) {
  row.entry = fmt::format("{}/{}", folder, name);
  BUSBAR_ASSIGN(const YamlDocument file, catalog.load(folder, name));
  if (row.entry.starts_with("networks/")) {
    const auto link = file.root().find("link");
    return link ? read_rate(*link, "rate", row) : Status(file.root().error("has no link"));
  }
  return read_rate(file.root(), row.entry.starts_with("gpus/") ? "memory_rate" : "rate", row);
}

Result<LinkRow> read_link(const Catalog& catalog, const YamlNode& node) {
  LinkRow row;
  std::string part, network, memory;
  MapReader r(node);
  r.required("name", &YamlNode::as_string, row.name);
  r.required("year", &YamlNode::as_int, row.year, 1990, 2100);
  r.optional("part", &YamlNode::as_string, part);
  r.optional("network", &YamlNode::as_string, network);
  r.optional("memory", &YamlNode::as_string, memory);
  r.optional("lanes", &YamlNode::as_int, row.lanes, 1, 1024);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (!part.empty()) BUSBAR_RETURN_IF_ERROR(read_entry(catalog, "links", part, row));
  if (!network.empty()) BUSBAR_RETURN_IF_ERROR(read_entry(catalog, "networks", network, row));
  if (!memory.empty()) BUSBAR_RETURN_IF_ERROR(read_entry(catalog, "gpus", memory, row));
  if (row.bytes_per_s <= 0) return node.error("names no part, network or memory");
  row.times_pcie5 = row.bytes_per_s / kPcie5BytesPerS;
  return row;
}

/// The figure under `key`, with or without a source of its own.
std::optional<YamlNode> figure(const YamlNode& map, const char* key) {
  const auto node = map.find(key);
  if (!node) return std::nullopt;
  if (node->kind() == YamlNode::Kind::kMap) return node->find("value");
  return node;
}

Result<OpticsRow> read_optic(const std::string& name, const Catalog& catalog, const PriceList& prices) {
  OpticsRow row{.name = name, .medium = {}, .power_w = {}, .usd = {}};
  BUSBAR_ASSIGN(const YamlDocument file, catalog.load("optics", name));
  const YamlNode root = file.root();
  if (const auto medium = figure(root, "medium")) {
    BUSBAR_ASSIGN(row.medium, medium->as_string());
  }
  const auto rate = figure(root, "rate");
  if (!rate) return root.error("has no rate");
  BUSBAR_ASSIGN(const BytesPerSecond bytes, rate->as_rate());
  row.bits_per_s = static_cast<double>(per_second(bytes)) * kBitsPerByte;
  if (const auto reach = figure(root, "reach_m")) {
    BUSBAR_ASSIGN(row.reach_m, reach->as_number(0, 1e7));
  }
  BUSBAR_ASSIGN(const PartCost cost, prices.find("optics", name));
  row.power_w = cost.power_w;
  row.usd = cost.usd;
  row.cable = cost.sold_as_cable;
  return row;
}

}  // namespace

Result<std::vector<LinkRow>> read_links(const Catalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load("comparisons", "links"));
  MapReader r = sourced(document.root());
  std::string name;
  r.optional("name", &YamlNode::as_string, name);
  const YamlNode list = r.required("rows");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  std::vector<LinkRow> out;
  BUSBAR_RETURN_IF_ERROR(read_items(
      list, [&](const YamlNode& node) { return read_link(catalog, node); }, out));
  return out;
}

double OpticsRow::pj_per_bit() const {
  constexpr double kPicojoules = 1e12;
  return *power_w / bits_per_s * kPicojoules;
}

Result<std::vector<OpticsRow>> read_optics(const Catalog& catalog, const PriceList& prices) {
  std::vector<OpticsRow> out;
  for (const std::string& name : catalog.names("optics")) {
    BUSBAR_ASSIGN(OpticsRow row, read_optic(name, catalog, prices));
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const OpticsRow& a, const OpticsRow& b) {
    if (!a.power_w || !b.power_w) return a.power_w.has_value() && !b.power_w;
    return a.pj_per_bit() < b.pj_per_bit();
  });
  return out;
}

}  // namespace busbar::spec
