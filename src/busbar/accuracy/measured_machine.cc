#include "busbar/accuracy/internal/measured_machine.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

#include "busbar/base/text.h"

namespace busbar::accuracy {
namespace {

/// The content of node_variant: token -> value, "" for tokens without a value.
using Variant = std::map<std::string, std::string>;
Variant variant_of(const std::string& text) {
  Variant out;
  if (text.empty()) return out;
  for (const std::string_view token : split_at(text, ';')) {
    const std::size_t equals = std::min(token.find('='), token.size());
    out[std::string(token.substr(0, equals))] = equals < token.size() ? token.substr(equals + 1) : "";
  }
  return out;
}

std::uint32_t whole(std::string_view text) {
  std::uint32_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

/// The keys of the node map in the cluster file, by name: `base` and its parameters.
struct NodeMap {
  std::map<std::string, std::string> keys;
  bool cards = false;  ///< whether the board has cards in slots, with number, switches and bridges as parameters
};

bool is_card_base(const std::string& name) { return name.starts_with("pcie-cards"); }

/// The board as a base with parameters. Boards with cards are resolved down to their base, so that it can be exchanged.
Result<NodeMap> node_map(const std::string& node, const spec::Catalog& catalog) {
  NodeMap out;
  std::string name = node;
  for (int depth = 0; depth < 8; ++depth) {
    BUSBAR_ASSIGN(const YamlDocument document, catalog.load("nodes", name));
    const YamlNode root = document.root();
    const auto base = root.find("base");
    if (!base) break;
    for (std::size_t i = 0; i < root.size(); ++i) {
      const std::string key = root.key(i);
      if (root.item(i).kind() != YamlNode::Kind::kScalar || key == "base" || key == "name" || key == "source" ||
          key == "note" || key == "confidence")
        continue;
      out.keys.emplace(key, root.item(i).scalar());
    }
    name = base->scalar();
  }
  out.cards = is_card_base(name);
  if (!out.cards) out.keys.clear();
  out.keys["base"] = out.cards ? name : node;
  return out;
}

/// Sets slots, switches and bridges of a server with cards.
void lay_cards(const Variant& variant, std::uint32_t gpus, NodeMap& map) {
  map.keys["gpus"] = std::to_string(gpus);
  const auto has = [&](const char* token) { return variant.contains(token); };
  const auto value = [&](const char* token) { return variant.contains(token) ? whole(variant.at(token)) : 0u; };
  if (has("pcie-gen")) map.keys["link"] = "pcie" + variant.at("pcie-gen");
  if (has("through-cpu")) map.keys["base"] = "pcie-cards";
  if (has("pcie-switch") || has("switches")) {
    const std::uint32_t switches = std::max(1u, has("switches") ? value("switches") : (gpus + 3) / 4);
    map.keys["base"] = "pcie-cards-switched";
    map.keys["switches"] = std::to_string(switches);
    map.keys["cards_per_switch"] =
        std::to_string(has("gpus-per-switch") ? value("gpus-per-switch") : (gpus + switches - 1) / switches);
    if (!has("cross-socket")) map.keys["cpus"] = "1";
  }
  // One socket has room for eight x16 cards. More cards, or cards stated to be on two, are spread over both sockets.
  if (has("cross-socket"))
    map.keys["cards_per_cpu"] = std::to_string(std::max(1u, (gpus + 1) / 2));
  else if (has("through-cpu") || has("pcie-switch"))
    map.keys["cards_per_cpu"] = std::to_string(std::max(1u, gpus));
  if (has("nvlink-pairs")) map.keys["island"] = "2";
  if (has("nvlink-islands")) map.keys["island"] = variant.at("nvlink-islands");
  if (has("nvlink-links")) map.keys["bridge_lanes"] = variant.at("nvlink-links");
}

/// Accepts tokens that are modelled, or that do not change the prediction.
Status check_tokens(const Variant& variant) {
  static constexpr std::string_view kKnown[] = {
      "gpus-visible", "gpu-ids",        "pcie-gen",     "pcie-switch", "switches",     "gpus-per-switch",
      "roots",        "through-cpu",    "cross-socket", "p2p",         "nvlink-pairs", "nvlink-islands",
      "nvlink-links", "racks",          "trays",        "vm",          "nics-used",    "mtu",
      "nic-unpinned", "nics-split-tor", "cross-nic",    "ring-cabled"};
  for (const auto& [token, value] : variant)
    if (std::find(std::begin(kKnown), std::end(kKnown), token) == std::end(kKnown))
      return unsupported(fmt::format("node_variant {} is not modelled", token));
  return {};
}

/// The shape of a slice: its dimensions double in turn, the last one first, which has a factor of 3 too (8x16x48).
/// Source: docs.cloud.google.com/tpu/docs/v6e and v5p, "Slice configurations"; AI-Hypercomputer/tpu-recipes
/// training/v5p/GPT3-175B-MaxText.
Result<std::string> slice_shape(const std::string& node, std::uint32_t chips, const spec::Catalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load("nodes", node));
  const auto parameters = document.root().find("parameters");
  const auto whole_board = parameters ? parameters->find("shape") : std::nullopt;
  const std::uint32_t thirds = chips % 3 == 0 ? 3 : 1, doubled = chips / thirds;
  if (!whole_board || !std::has_single_bit(doubled)) return unsupported(fmt::format("a slice of {} chips", chips));
  std::vector<std::uint32_t> shape(split_at(whole_board->scalar(), 'x').size(), 1);
  for (std::size_t i = 0; 1u << i < doubled; ++i) shape[shape.size() - 1 - i % shape.size()] *= 2;
  shape.back() *= thirds;
  return fmt::format("{}", fmt::join(shape, "x"));
}

struct Nics {
  int count = 0;
  int gbps = 0;
};

Result<std::string> fabric_text(const std::string& fabric, Nics nics, const spec::Catalog& catalog) {
  if (nics.count <= 0 || nics.gbps <= 0) return unsupported("NICs are not known");
  const std::string network = network_of(fabric, nics.gbps, nics.count, catalog);
  if (network.empty()) return unsupported(fmt::format("no network {} of {} Gb/s in the catalogue", fabric, nics.gbps));
  return fmt::format(
      ", fabric: {{kind: rail-optimised, network: {}, link: {{rate: {}Gb/s}}, cable_m: {{nic: 5, leaf: 20, core: "
      "50}}}}",
      network, nics.gbps);
}

}  // namespace

std::string network_of(const std::string& fabric, int gbps, int nics, const spec::Catalog& catalog) {
  static const std::map<int, std::string> kInfiniband{{10, "sdr"},  {20, "ddr"},  {40, "qdr"},  {56, "fdr"},
                                                      {100, "edr"}, {200, "hdr"}, {400, "ndr"}, {800, "xdr"}};
  std::string name;
  if (fabric == "ib")
    name = kInfiniband.contains(gbps) ? "infiniband-" + kInfiniband.at(gbps) : "";
  else if (fabric == "efa")  // by generation: one or four ports of 100 Gb/s, then many, then faster ones
    name = gbps >= 400 ? "efa-v4" : gbps >= 200 ? "efa-v3" : nics > 4 ? "efa-v2" : "efa-v1";
  else if (fabric == "slingshot")
    name = "slingshot-11";
  else if (fabric == "omni-path")
    name = "omni-path-100";
  else
    name = fmt::format("{}-{}g", fabric == "unknown" ? "roce" : fabric, gbps);
  return catalog.has("networks", name) ? name : "";
}

Result<MeasuredMachine> machine_of_row(const CsvTable& table, std::size_t row, const spec::Catalog& catalog) {
  MeasuredMachine out;
  out.node = table.cell(row, "node");
  if (out.node.empty() || out.node == "unknown") return unsupported("the board is not known");
  // The tables' board does not distinguish memory sizes; the catalogue does if rates differ.
  const bool small = table.cell(row, "gpu").find("40GB") != std::string::npos;
  if (small && catalog.has("nodes", out.node + "-40")) out.node += "-40";
  if (!catalog.has("nodes", out.node)) return unsupported(fmt::format("no board {} in the catalogue", out.node));
  BUSBAR_ASSIGN(const auto nodes, table.number(row, "nodes"));
  BUSBAR_ASSIGN(const auto per_node, table.number(row, "gpus_per_node"));
  BUSBAR_ASSIGN(const auto total, table.number(row, "gpus_total"));
  if (!total && !per_node) return unsupported("the number of GPUs is not known");
  const double counted = total && per_node && *per_node > 0 ? std::max(1.0, *total / *per_node) : 1;
  out.nodes = static_cast<std::uint32_t>(std::clamp(nodes.value_or(counted), 1.0, 1e6));
  out.gpus_per_node = static_cast<std::uint32_t>(std::clamp(per_node ? *per_node : *total / out.nodes, 1.0, 1e6));
  if (!nodes && total && *total < out.gpus_per_node)
    out.gpus_per_node = static_cast<std::uint32_t>(std::max(1.0, *total));
  if (total && static_cast<double>(out.nodes) * out.gpus_per_node != *total)
    return unsupported("nodes x gpus_per_node is not gpus_total");
  const Variant variant = variant_of(table.cell(row, "node_variant"));
  BUSBAR_RETURN_IF_ERROR(check_tokens(variant));
  BUSBAR_ASSIGN(NodeMap map, node_map(out.node, catalog));
  if (map.cards) lay_cards(variant, out.gpus_per_node, map);
  if (variant.contains("gpu-ids"))
    for (const std::string_view id : split_at(variant.at("gpu-ids"), '-')) out.gpu_ids.push_back(whole(id));

  const std::string& fabric = table.cell(row, "fabric");
  const bool one_domain = fabric == "mnnvl" || out.node.find("nvl72") != std::string::npos;
  if (fabric == "ici") {  // hosts of a slice are no nodes
    out.gpus_per_node *= out.nodes;
    out.nodes = 1;
    BUSBAR_ASSIGN(map.keys["shape"], slice_shape(out.node, out.gpus_per_node, catalog));
  }
  std::uint32_t blocks = out.nodes;
  if (one_domain) {  // nodes are trays: all in one rack as long as they fit
    constexpr std::uint32_t kTrays = 18;
    const std::uint32_t fewest = (out.nodes + kTrays - 1) / kTrays;
    const std::uint32_t racks = variant.contains("racks") ? whole(variant.at("racks")) : fewest;
    std::uint32_t even = std::clamp(racks, fewest, out.nodes);  // racks are filled evenly
    while (out.nodes % even != 0) ++even;
    map.keys["trays"] = std::to_string(out.nodes / even);
    blocks = even;
    out.gpus_per_node *= out.nodes / even;
    out.nodes = even;
  }
  Nics nics;
  BUSBAR_ASSIGN(const auto nic_count, table.number(row, "nics_per_node"));
  BUSBAR_ASSIGN(const auto gbps, table.number(row, "nic_gbps"));
  nics.count = static_cast<int>(nic_count.value_or(0));
  nics.gbps = static_cast<int>(gbps.value_or(0));
  if (variant.contains("nics-used")) nics.count = static_cast<int>(whole(variant.at("nics-used")));
  std::string fabric_lines;
  if (blocks > 1) {
    const int gpus = static_cast<int>(out.gpus_per_node);
    BUSBAR_ASSIGN(fabric_lines, fabric_text(fabric, nics, catalog));
    if (!one_domain) map.keys["nics"] = std::to_string(nics.count);
    // Whole servers have a card per GPU; EFA has no multi-port cards.
    const bool several = nics.count > gpus && gpus >= 8 && nics.count % gpus == 0;
    if (several && fabric != "efa") map.keys["ports_per_card"] = std::to_string(nics.count / gpus);
  }
  if (table.cell(row, "gpudirect") == "no") map.keys["gpudirect"] = "false";
  if (table.cell(row, "gpudirect") == "yes") map.keys["gpudirect"] = "true";
  if (variant.contains("p2p")) map.keys["p2p"] = variant.at("p2p") == "off" ? "false" : "true";
  std::string node;
  for (const auto& [key, value] : map.keys) append_word(node, key + ": " + value);
  out.text = fmt::format("{{name: {}, nodes: {}, node: {{{}}}{}}}", out.node, blocks, node, fabric_lines);
  return out;
}

Result<std::vector<topology::DeviceId>> gpus_taking_part(const MeasuredMachine& m, const topology::Topology& t) {
  const auto all = t.gpus();
  const std::size_t per_block = all.size() / m.nodes;
  if (per_block * m.nodes != all.size() || m.gpus_per_node > per_block)
    return unsupported(fmt::format("{} GPUs a node, the board has {}", m.gpus_per_node, per_block));
  std::vector<topology::DeviceId> out;
  for (std::uint32_t b = 0; b < m.nodes; ++b)
    for (std::uint32_t g = 0; g < m.gpus_per_node; ++g) {
      const std::uint32_t id = g < m.gpu_ids.size() ? m.gpu_ids[g] : g;
      if (id >= per_block) return unsupported(fmt::format("there is no GPU {} on the board", id));
      out.push_back(all[b * per_block + id]);
    }
  return out;
}

}  // namespace busbar::accuracy
