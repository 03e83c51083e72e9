#include <fmt/core.h>

#include "busbar/base/quantity.h"
#include "busbar/spec/internal/lane.h"
#include "busbar/spec/internal/node_devices.h"
#include "busbar/spec/internal/node_pairs.h"

namespace busbar::spec {
namespace {

struct ReadClass {
  topology::LinkClass link;
  std::optional<YamlNode> product;  ///< the source of its figures, if not the entry itself
};

Result<ReadClass> read_class(const YamlNode& map, Reading& reading) {
  constexpr std::uint64_t kFastest = std::uint64_t{1} << 62;  // bytes/s
  ReadClass out;
  topology::LinkClass& c = out.link;
  std::int64_t lanes = 1;
  MapReader r = sourced(map);
  for (const char* key : {"between", "pairs", "torus", "islands", "planes", "shape", "full", "twisted"})
    r.optional(key);
  const auto product = r.optional("link");
  r.optional("lanes", &YamlNode::as_int, lanes, 1, 65'535);
  if (product && r.ok()) {
    BUSBAR_ASSIGN(const LinkLane lane, read_lane(*product, reading));
    c = lane.link;
    if (per_second(c.wire_rate) > kFastest / static_cast<std::uint64_t>(lanes)) return map.error("is too fast");
    c.wire_rate = BytesPerSecond{per_second(c.wire_rate) * static_cast<std::uint64_t>(lanes)};
    c.part = fmt::format("{} x{}", c.part, lanes);
    out.product = lane.file;
    r.optional("rate", &YamlNode::as_rate, c.wire_rate);
  }
  const auto kind = product ? r.optional("kind") : r.required("kind");
  r.optional("kind", &as_link_kind, c.kind);
  if (!product) r.required("rate", &YamlNode::as_rate, c.wire_rate);
  r.optional("latency", &YamlNode::as_duration, c.latency);
  r.optional("part", &YamlNode::as_string, c.part);
  r.optional("efficiency", &YamlNode::as_number, c.efficiency, kLeastEfficiency, 1);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (topology::is_fabric(c.kind))
    return (kind ? *kind : *product).error("links inside a node are nvlink, xgmi, ici, c2c, pcie, socket or host");
  c.lanes = static_cast<std::uint16_t>(lanes);
  return out;
}

}  // namespace

Result<LinkLane> read_lane_file(const YamlNode& file) {
  LinkLane lane;
  lane.file = file;
  MapReader r = sourced(lane.file);
  r.required("name", &YamlNode::as_string, lane.link.part);
  r.required("kind", &as_link_kind, lane.link.kind);
  r.optional("brand", &YamlNode::as_string, lane.link.brand);
  r.required("rate", &YamlNode::as_rate, lane.link.wire_rate);
  r.optional("latency", &YamlNode::as_duration, lane.link.latency);
  r.optional("efficiency", &YamlNode::as_number, lane.link.efficiency, kLeastEfficiency, 1);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return lane;
}

Result<LinkLane> read_lane(const YamlNode& name, Reading& reading) {
  BUSBAR_ASSIGN(const YamlNode file, reading.resolve(name, "links"));
  return read_lane_file(file);
}

Status read_links(const YamlNode& links, Reading& reading, NodeFile& out) {
  if (links.kind() != YamlNode::Kind::kSequence) return links.error("expected a list of links");
  for (std::size_t i = 0; i < links.size(); ++i) {
    const YamlNode map = links.item(i);
    BUSBAR_ASSIGN(const ReadClass read, read_class(map, reading));
    const topology::LinkClass& c = read.link;
    BUSBAR_ASSIGN(const std::vector<LinkPair> pairs, link_pairs(map, out));
    if (out.node.links.size() + pairs.size() > kMaxLinks)
      return map.error(fmt::format("more than {} links", kMaxLinks));
    out.node.links.reserve(out.node.links.size() + pairs.size());
    for (const LinkPair& p : pairs) out.node.links.push_back({p.a, p.b, c});
    if (pairs.empty()) continue;
    const std::string what = fmt::format("{} {} of {}, {} usable", c.part.empty() ? topology::name_of(c.kind) : c.part,
                                         format_rate(static_cast<double>(per_second(c.wire_rate))), out.node.name,
                                         format_rate(static_cast<double>(per_second(c.payload_rate()))));
    reading.note(what, map);
    if (read.product) reading.note(what, *read.product);
  }
  return {};
}

}  // namespace busbar::spec
