#include "busbar/spec/fabric_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/spec/reading.h"

namespace busbar::spec {
namespace {

Error in_field(const char* field, std::string message) { return invalid(std::move(message), {"", 0, 0, field}); }

/// Cuts "-4:1" or "4:1" off the end of a word and returns "4"; empty: there is no ratio.
std::string cut_ratio(std::string& word) {
  if (!word.ends_with(":1")) return "";
  const std::size_t digits = word.size() - 2;
  const std::size_t dash = word.rfind('-', digits);
  const std::size_t from = dash == std::string::npos ? 0 : dash + 1;
  std::string ratio = word.substr(from, digits - from);
  double value = 0;
  if (!is_number(ratio, value) || !(value >= 1)) return "";
  word.resize(dash == std::string::npos ? 0 : dash);
  return ratio;
}

/// The preset of a word for ports of a rate. `node`: its map of rates.
Result<std::string> preset_at(const YamlNode& node, const std::string& word, BytesPerSecond port) {
  std::vector<std::string> rates;
  for (std::size_t i = 0; i < node.size(); ++i) {
    BUSBAR_ASSIGN(const BytesPerSecond rate, parse_rate(node.key(i)));
    if (rate == port) return node.item(i).as_string();
    rates.emplace_back(node.key(i));
  }
  constexpr double kBitsPerGigabit = 1e9 / 8;
  return in_field("fabrics", fmt::format("'{}' has no preset for ports of {} Gb/s, only for {}; name a preset "
                                         "(busbar catalog fabrics)",
                                         word, format_number(static_cast<double>(per_second(port)) / kBitsPerGigabit),
                                         comma_list(rates)));
}

Result<std::string> read_setting(const YamlNode& node) { return node.as_string(); }

Result<PacketCause> read_cause(const YamlNode& node) {
  PacketCause out;
  MapReader r(node);
  r.required("name", &YamlNode::as_string, out.name);
  r.required("title", &YamlNode::as_string, out.title);
  const YamlNode set = r.required("set");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_RETURN_IF_ERROR(read_items(set, &read_setting, out.set));
  return out;
}

Result<FabricPackets> read_packets(const YamlNode& node) {
  FabricPackets out;
  MapReader r(node);
  r.required("transport", &YamlNode::as_string, out.transport);
  r.required("paths", &YamlNode::as_string, out.paths);
  const YamlNode set = r.required("set");
  const std::optional<YamlNode> causes = r.optional("causes");
  r.required("source", &YamlNode::as_string, out.source);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_RETURN_IF_ERROR(read_items(set, &read_setting, out.set));
  if (causes) BUSBAR_RETURN_IF_ERROR(read_items(*causes, &read_cause, out.causes));
  return out;
}

Status read_word(const YamlNode& entry, const std::string& word, BytesPerSecond port, FabricWord& out) {
  MapReader r(entry);
  r.required("title", &YamlNode::as_string, out.title);
  const YamlNode fabrics = r.required("fabrics");
  r.optional("transport", &YamlNode::as_string, out.transport);
  r.optional("packets", read_packets, out.packets);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_ASSIGN(out.preset, preset_at(fabrics, word, port));
  return {};
}

Result<FabricWord> read_one(const std::string& typed, const YamlNode& words, BytesPerSecond port,
                            const Catalog& catalog) {
  FabricWord out{.word = typed, .title = {}, .preset = {}, .oversubscription = {}, .transport = {}, .shape = {}};
  std::string word = typed;
  out.oversubscription = cut_ratio(word);
  if (word.empty() && !out.oversubscription.empty()) return out;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < words.size(); ++i) {
    known.emplace_back(words.key(i));
    if (known.back() != word) continue;
    BUSBAR_RETURN_IF_ERROR(read_word(words.item(i), word, port, out));
    return out;
  }
  if (catalog.has("fabrics", word)) {
    out.preset = word;
    return out;
  }
  return in_field("fabrics", fmt::format("'{}' is none of {}, no ratio such as 2:1, and no preset of busbar "
                                         "catalog fabrics",
                                         typed, comma_list(known)));
}

}  // namespace

std::vector<std::string> FabricWord::settings() const {
  std::vector<std::string> out;
  if (!preset.empty()) out.push_back("fabric=" + preset);
  if (!oversubscription.empty()) out.push_back("fabric.oversubscription=" + oversubscription);
  if (!shape.empty()) out.push_back("node.shape=" + shape);
  return out;
}

BytesPerSecond port_rate(const topology::Topology& t) {
  for (const topology::DeviceId s : t.fabric_switches())
    for (const topology::LinkId l : t.out_links(s))
      if (t.kind(t.to(l)) == topology::DeviceKind::kNic) return t.link_class(l).wire_rate;
  return BytesPerSecond{0};
}

Result<std::vector<FabricWord>> read_fabric_words(const std::string& list, BytesPerSecond port,
                                                  const Catalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load("comparisons", "fabrics"));
  MapReader r = sourced(document.root());
  std::string name;
  r.optional("name", &YamlNode::as_string, name);
  const YamlNode words = r.required("words");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  std::vector<FabricWord> out;
  for (const std::string_view word : split_at(list, ',')) {
    BUSBAR_ASSIGN(FabricWord one, read_one(std::string(word), words, port, catalog));
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::vector<FabricWord>> torus_shapes(const Cluster& machine, std::uint32_t chips) {
  const std::uint32_t edge = machine.ocs.cube, in_cube = machine.ocs.chips_in_cube();
  if (machine.ocs.switches == 0)
    return in_field("shapes", fmt::format("{} has no optical switches that could wire another shape", machine.name));
  if (chips % in_cube != 0)
    return in_field("shapes",
                    fmt::format("shapes are made of cubes of {} chips: {} or {}, not {}", in_cube,
                                std::max(in_cube, chips / in_cube * in_cube), (chips / in_cube + 1) * in_cube, chips));
  std::vector<FabricWord> out;
  const std::uint32_t cubes = chips / in_cube;
  for (std::uint32_t x = 1; x * x * x <= cubes; ++x)
    for (std::uint32_t y = x; x * y * y <= cubes; ++y)
      if (cubes % (x * y) == 0) {
        FabricWord& word = out.emplace_back();
        word.word = word.shape = fmt::format("{}x{}x{}", x * edge, y * edge, cubes / (x * y) * edge);
      }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace busbar::spec
