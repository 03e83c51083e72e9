#include "busbar/spec/fabric_file.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/spec/cabling_file.h"
#include "busbar/spec/fabric_sizes.h"
#include "busbar/spec/fabric_switch.h"

namespace busbar {
namespace {

/// A network's figures before they are laid out: the catalogue's, with the fabric file's own in their place.
struct Network {
  std::string name;
  LinkClass link;
  bool has_rate = false;
  std::optional<Duration> link_latency;  ///< as stated; else computed
  SwitchFigures leaf, spine, core;
  Duration nic_latency, fec_latency, per_m;
  std::vector<CablePart> cable_parts;
  bool gpudirect = true;
  std::optional<YamlNode> transport;
};

Status read_link(const YamlNode& map, Reading& reading, Network& out) {
  MapReader r(map);
  accept_provenance(r);
  r.optional("rate", &YamlNode::as_rate, out.link.wire_rate);
  r.optional("part", &YamlNode::as_string, out.link.part);
  const auto kind = r.optional("kind"), efficiency = r.optional("efficiency"), latency = r.optional("latency");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (kind) {
    BUSBAR_ASSIGN(out.link.kind, as_enum(*kind, LinkKind::kIdeal, &name_of, "kind of link"));
    if (!is_fabric(out.link.kind)) return kind->error("cables of a fabric are infiniband, ethernet or ideal");
  }
  if (efficiency) {
    BUSBAR_ASSIGN(out.link.efficiency, efficiency->as_number(1e-6, 1));
  }
  if (latency) {
    BUSBAR_ASSIGN(out.link_latency, latency->as_duration());
  }
  out.has_rate = out.has_rate || map.find("rate").has_value();
  reading.note(fmt::format("{} {}, {} usable", out.link.part.empty() ? name_of(out.link.kind) : out.link.part,
                           format_rate(static_cast<double>(per_second(out.link.wire_rate))),
                           format_rate(static_cast<double>(per_second(out.link.payload_rate())))),
               map);
  return {};
}

Status read_nic(const YamlNode& map, Reading& reading, Network& out) {
  std::string part;
  MapReader r(map);
  accept_provenance(r);
  r.optional("part", &YamlNode::as_string, part);
  r.optional("latency", &YamlNode::as_duration, out.nic_latency);
  reading.note(fmt::format("NIC {} {}", part, format_duration(out.nic_latency.in_s())), map);
  return r.finish();
}

Status read_cable(const YamlNode& map, Reading& reading, Network& out) {
  MapReader r(map);
  accept_provenance(r);
  const auto parts = r.optional("parts");
  r.optional("latency_per_m", &YamlNode::as_duration, out.per_m);
  r.optional("fec", &YamlNode::as_duration, out.fec_latency);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (parts) {
    BUSBAR_ASSIGN(out.cable_parts, read_cable_parts(*parts, reading));
  }
  return {};
}

/// The keys that a network file and a fabric file share.
Status read_parts(MapReader& r, Reading& reading, Network& out) {
  const auto link = r.optional("link"), sw = r.optional("switch"), nic = r.optional("nic"), cable = r.optional("cable");
  const auto spine = r.optional("spine_switch"), core = r.optional("core_switch");
  if (const auto transport = r.optional("transport")) out.transport = transport;
  if (link) BUSBAR_RETURN_IF_ERROR(read_link(*link, reading, out));
  for (SwitchFigures* tier : {&out.leaf, &out.spine, &out.core})
    if (sw) BUSBAR_RETURN_IF_ERROR(read_switch(*sw, reading, *tier));
  if (spine) BUSBAR_RETURN_IF_ERROR(read_switch(*spine, reading, out.spine));
  if (core) BUSBAR_RETURN_IF_ERROR(read_switch(*core, reading, out.core));
  if (nic) BUSBAR_RETURN_IF_ERROR(read_nic(*nic, reading, out));
  r.optional("gpudirect", &YamlNode::as_bool, out.gpudirect);
  if (cable) BUSBAR_RETURN_IF_ERROR(read_cable(*cable, reading, out));
  return {};
}

Status read_network(const YamlNode& map, Reading& reading, Network& out) {
  MapReader r(map);
  accept_provenance(r);
  r.optional("name", &YamlNode::as_string, out.name);
  BUSBAR_RETURN_IF_ERROR(read_parts(r, reading, out));
  return r.finish();
}

/// Metres of cable at each tier.
struct Lengths {
  double nic = 0, leaf = 0, core = 0;
};

Status read_lengths(const YamlNode& map, Lengths& out) {
  constexpr double kLongest = 100'000;  // 100 km: beyond any building
  MapReader r(map);
  const auto take = [&](const char* key, double& metres) -> Status {
    if (const auto n = r.optional(key)) {
      BUSBAR_ASSIGN(metres, n->as_number(0, kLongest));
    }
    return {};
  };
  BUSBAR_RETURN_IF_ERROR(take("nic", out.nic));
  BUSBAR_RETURN_IF_ERROR(take("leaf", out.leaf));
  BUSBAR_RETURN_IF_ERROR(take("core", out.core));
  accept_provenance(r);
  return r.finish();
}

Duration half(Duration d) { return Duration::ps(d.in_ps() / 2); }

/// Half of a switch. Taking in a whole frame, where it does so, is a latency of every message to fluids, whatever its
/// size.
void add_half(const Network& n, const SwitchFigures& s, LatencyParts& out) {
  out.switching += half(s.latency);
  if (s.store_and_forward && n.has_rate) out.frame += half(transfer_time(s.frame, n.link.wire_rate));
}

/// The cable with its error correction, and half of the time that each of its two devices takes to forward: along a
/// path the halves add up to every device once. `low`: the lower switch; null: a NIC.
LinkClass laid(const Network& n, double metres, const SwitchFigures* low, const SwitchFigures& high) {
  LinkClass c = n.link;
  if (n.link_latency) {
    c.latency = *n.link_latency;
    return c;
  }
  LatencyParts& p = c.latency_parts;
  if (low) add_half(n, *low, p);
  add_half(n, high, p);
  p.nic = low ? Duration() : half(n.nic_latency);
  p.fec = n.fec_latency;
  p.cable = Duration::ps(std::llround(static_cast<double>(n.per_m.in_ps()) * metres));
  c.latency = p.sum();
  return c;
}

}  // namespace

Result<FabricFile> read_fabric(const YamlNode& node, Reading& reading) {
  FabricFile out;
  if (node.kind() == YamlNode::Kind::kScalar && node.scalar() == "none") return out;
  BUSBAR_ASSIGN(const YamlNode map, reading.resolve(node, "fabrics"));
  Network network;
  Lengths lengths;
  MapReader r(map);
  accept_provenance(r);
  r.optional("name");
  const YamlNode kind = r.required("kind");
  if (!r.ok()) return r.finish().error();
  BUSBAR_ASSIGN(out.spec.kind, as_enum(kind, kLastFabricKind, &name_of, "kind of fabric"));
  if (const auto named = r.optional("network")) {
    BUSBAR_ASSIGN(const YamlNode file, reading.resolve(*named, "networks"));
    BUSBAR_RETURN_IF_ERROR(read_network(file, reading, network));
  }
  BUSBAR_RETURN_IF_ERROR(read_parts(r, reading, network));
  BUSBAR_RETURN_IF_ERROR(read_fabric_sizes(r, out.spec));
  const auto routing = r.optional("routing");
  if (const auto metres = r.optional("cable_m")) BUSBAR_RETURN_IF_ERROR(read_lengths(*metres, lengths));
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (routing) {
    BUSBAR_ASSIGN(out.routing, as_enum(*routing, kLastRoutingPolicy, &name_of, "routing policy"));
  }
  if (out.spec.kind == FabricKind::kNone) return out;
  if (!network.has_rate) {
    return map.error(
        "the fabric has no rate; add 'network: infiniband-ndr', or 'link: {kind: infiniband, rate: 400Gb/s}'");
  }
  out.transport = network.transport;
  out.network = network.name.empty() ? name_of(network.link.kind) : network.name;
  out.spec.leaf = network.leaf.spec;
  out.spec.spine = network.spine.spec;
  out.spec.core = network.core.spec;
  out.gpudirect = network.gpudirect;
  out.leaf_power_w = network.leaf.power_w;
  out.spine_power_w = network.spine.power_w;
  out.core_power_w = network.core.power_w;
  out.cable_parts = std::move(network.cable_parts);
  if (out.cable_parts.empty() && network.link.kind != LinkKind::kIdeal) {
    BUSBAR_ASSIGN(out.cable_parts, usual_cable_parts(reading));
  }
  // In a tree the links of a tier lead upwards; in a dragonfly and a torus they join leaves.
  const bool flat = out.spec.kind == FabricKind::kDragonfly || out.spec.kind == FabricKind::kTorus;
  const SwitchFigures &middle = flat ? network.leaf : network.spine, &top = flat ? network.leaf : network.core;
  out.spec.nic_link = laid(network, lengths.nic, nullptr, network.leaf);
  out.spec.leaf_link = laid(network, lengths.leaf, &network.leaf, middle);
  out.spec.core_link = laid(network, lengths.core, &middle, top);
  reading.note(fmt::format("fabric {}", name_of(out.spec.kind)), map);
  return out;
}

}  // namespace busbar
