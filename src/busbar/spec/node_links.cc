#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "busbar/base/quantity.h"
#include "busbar/spec/node_devices.h"
#include "busbar/topology/selector.h"

namespace busbar {
namespace {

struct Pair {
  std::uint32_t a, b;
};

/// Places whose name matches the glob, ascending; an error at `pattern` when there are none.
Result<std::vector<std::uint32_t>> matching(const YamlNode& pattern, const NodeTemplate& node) {
  BUSBAR_ASSIGN(const std::string glob, pattern.as_string());
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < node.devices.size(); ++i) {
    if (matches_glob(glob, node.devices[i].name)) out.push_back(i);
  }
  if (!out.empty()) return out;
  std::vector<std::string> names;
  for (const TemplateDevice& d : node.devices) {
    names.push_back(d.name);
    if (names.size() == 4096) break;  // enough to suggest from
  }
  const std::string near = nearest(glob, names);
  return pattern.error(fmt::format("no device of this node is called '{}'{}", glob,
                                   near.empty() ? "; see 'devices:'" : fmt::format("; did you mean '{}'?", near)));
}

/// "gpu#" with "nic#": gpu0-nic0, gpu1-nic1, ... Every number of the first must exist in the second.
Result<std::vector<Pair>> numbered_pairs(const YamlNode& first, const YamlNode& second, const NodeTemplate& node) {
  const std::string a = first.scalar(), b = second.scalar();
  const std::size_t at = a.find('#'), there = b.find('#');
  if (at == std::string::npos || there == std::string::npos) {
    return (at == std::string::npos ? first : second)
        .error("'#' stands for the same number in both names; write it in both");
  }
  const std::string_view before = std::string_view(a).substr(0, at), after = std::string_view(a).substr(at + 1);
  std::unordered_map<std::string_view, std::uint32_t> places;  // by local name; never iterated
  places.reserve(node.devices.size());
  for (std::uint32_t i = 0; i < node.devices.size(); ++i) places.emplace(node.devices[i].name, i);
  std::vector<Pair> out;
  for (std::uint32_t i = 0; i < node.devices.size(); ++i) {
    std::string_view name = node.devices[i].name;
    if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) continue;
    const std::string_view number = name.substr(before.size(), name.size() - before.size() - after.size());
    if (!std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    const std::string peer = fmt::format("{}{}{}", b.substr(0, there), number, b.substr(there + 1));
    const auto it = places.find(peer);
    if (it == places.end()) {
      return second.error(
          fmt::format("{} has no '{}' to be joined to; give both as many devices", node.devices[i].name, peer));
    }
    out.push_back({i, it->second});
  }
  if (out.empty()) return first.error(fmt::format("no device of this node is called '{}' with a number for '#'", a));
  return out;
}

Result<std::vector<Pair>> pairs_of(const YamlNode& between, const NodeTemplate& node) {
  if (between.kind() != YamlNode::Kind::kSequence || between.size() != 2) {
    return between.error("expected two device names, for example [gpu*, nvswitch0]");
  }
  const YamlNode first = between.item(0), second = between.item(1);
  if ((first.scalar() + second.scalar()).find('#') != std::string::npos) return numbered_pairs(first, second, node);
  BUSBAR_ASSIGN(const std::vector<std::uint32_t> left, matching(first, node));
  BUSBAR_ASSIGN(const std::vector<std::uint32_t> right, matching(second, node));
  if (left.size() > kMaxLinks / right.size()) {
    return between.error(fmt::format("{} x {} links are more than {}", left.size(), right.size(), kMaxLinks));
  }
  std::vector<Pair> out;
  for (const std::uint32_t a : left) {
    for (const std::uint32_t b : right) {
      if (a == b) continue;
      // Where both names match both ends, each pair comes twice: keep the ascending one.
      const bool twice =
          a > b && std::binary_search(left.begin(), left.end(), b) && std::binary_search(right.begin(), right.end(), a);
      if (!twice) out.push_back({a, b});
    }
  }
  if (out.empty()) return between.error("joins a device to itself");
  return out;
}

Result<LinkClass> read_class(const YamlNode& map) {
  LinkClass c;
  std::int64_t lanes = 1;
  MapReader r(map);
  accept_provenance(r);
  r.required("between");
  const YamlNode kind = r.required("kind");
  r.required("rate", &YamlNode::as_rate, c.wire_rate);
  r.optional("latency", &YamlNode::as_duration, c.latency);
  r.optional("part", &YamlNode::as_string, c.part);
  if (const auto n = r.optional("lanes"); n && r.ok()) {
    BUSBAR_ASSIGN(lanes, n->as_int(1, 65'535));
  }
  if (const auto e = r.optional("efficiency"); e && r.ok()) {
    BUSBAR_ASSIGN(c.efficiency, e->as_number(1e-6, 1));
  }
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_ASSIGN(c.kind, as_enum(kind, LinkKind::kIdeal, &name_of, "kind of link"));
  if (is_fabric(c.kind)) return kind.error("links inside a node are nvlink, xgmi, ici, c2c, pcie, socket or host");
  c.lanes = static_cast<std::uint16_t>(lanes);
  return c;
}

}  // namespace

Status read_links(const YamlNode& links, Reading& reading, NodeFile& out) {
  if (links.kind() != YamlNode::Kind::kSequence) return links.error("expected a list of links");
  for (std::size_t i = 0; i < links.size(); ++i) {
    const YamlNode map = links.item(i);
    BUSBAR_ASSIGN(const LinkClass c, read_class(map));
    BUSBAR_ASSIGN(const std::vector<Pair> pairs, pairs_of(*map.find("between"), out.node));
    if (out.node.links.size() + pairs.size() > kMaxLinks)
      return map.error(fmt::format("more than {} links", kMaxLinks));
    out.node.links.reserve(out.node.links.size() + pairs.size());
    for (const Pair& p : pairs) out.node.links.push_back({p.a, p.b, c});
    const std::string payload = format_rate(static_cast<double>(per_second(c.payload_rate())));
    reading.note(fmt::format("{} {} of {}, {} usable", c.part.empty() ? name_of(c.kind) : c.part,
                             format_rate(static_cast<double>(per_second(c.wire_rate))), out.node.name, payload),
                 map);
  }
  return {};
}

}  // namespace busbar
