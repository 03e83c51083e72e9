#include "busbar/spec/internal/fabric_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/spec/internal/cabling_file.h"
#include "busbar/spec/internal/fabric_sizes.h"
#include "busbar/spec/internal/fabric_switch.h"

namespace busbar::spec {
namespace {

/// One kind of cable, before its length is known.
struct CableFigures {
  topology::LinkClass link;
  bool has_rate = false;
  std::optional<Duration> latency;  ///< as given; otherwise computed
};

/// A network's figures: the catalogue's, overridden by those of the fabric file.
struct Network {
  std::string name;
  CableFigures cable;
  std::vector<SwitchFigures> tiers = std::vector<SwitchFigures>(3);  ///< leaves, spines, cores
  Duration nic_latency, fec_latency, per_m;
  bool fec_contained = false;  ///< latencies of NIC and switches contain it: shown separately, not added
  std::vector<topology::CablePart> cable_parts;
  bool gpudirect = true;
  std::optional<YamlNode> transport;
  topology::RoutingPolicy routing = topology::RoutingPolicy::kStatic;
};

Status read_link(const YamlNode& map, Reading& reading, CableFigures& out) {
  MapReader r = sourced(map);
  r.optional("rate", &YamlNode::as_rate, out.link.wire_rate);
  r.optional("part", &YamlNode::as_string, out.link.part);
  r.optional("kind", &as_link_kind, out.link.kind);
  r.optional("efficiency", &YamlNode::as_number, out.link.efficiency, kLeastEfficiency, 1);
  r.optional("latency", &YamlNode::as_duration, out.latency);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (const auto kind = map.find("kind"); kind && !topology::is_fabric(out.link.kind))
    return kind->error("cables of a fabric are infiniband, ethernet or ideal");
  out.has_rate = out.has_rate || map.find("rate").has_value();
  reading.note(fmt::format("{} {}, {} usable", out.link.part.empty() ? topology::name_of(out.link.kind) : out.link.part,
                           format_rate(static_cast<double>(per_second(out.link.wire_rate))),
                           format_rate(static_cast<double>(per_second(out.link.payload_rate())))),
               map);
  return {};
}

/// `uplink`: figures of the cables above the leaves; one map, or one per tier from the leaves on. The last one also
/// applies to all tiers above. Returns at least one entry.
Result<std::vector<CableFigures>> read_uplinks(const std::optional<YamlNode>& node, Reading& reading,
                                               const CableFigures& usual) {
  if (!node) return std::vector{usual};
  const bool list = node->kind() == YamlNode::Kind::kSequence;
  if (list && (node->size() < 1 || node->size() >= topology::kMostTiers))
    return node->error("one map per tier below the top: [{rate: 800Gb/s}, {rate: 1600Gb/s}]");
  std::vector<CableFigures> out;
  for (std::size_t i = 0; i < (list ? node->size() : 1); ++i) {
    out.push_back(usual);
    BUSBAR_RETURN_IF_ERROR(read_link(list ? node->item(i) : *node, reading, out.back()));
  }
  return out;
}

Status read_nic(const YamlNode& map, Reading& reading, Network& out) {
  std::string part;
  MapReader r = sourced(map);
  r.optional("part", &YamlNode::as_string, part);
  r.optional("latency", &YamlNode::as_duration, out.nic_latency);
  reading.note(fmt::format("NIC {} {}", part, format_duration(out.nic_latency.in_s())), map);
  return r.finish();
}

Status read_cable(const YamlNode& map, Reading& reading, Network& out) {
  MapReader r = sourced(map);
  r.optional("parts", &read_cable_parts, out.cable_parts, std::ref(reading));
  r.optional("latency_per_m", &YamlNode::as_duration, out.per_m);
  r.optional("fec", &YamlNode::as_duration, out.fec_latency);
  r.optional("fec_contained", &YamlNode::as_bool, out.fec_contained);
  return r.finish();
}

/// The keys common to network files and fabric files.
Status read_parts(MapReader& r, Reading& reading, Network& out) {
  const auto link = r.optional("link"), sw = r.optional("switch"), nic = r.optional("nic"), cable = r.optional("cable");
  const auto spine = r.optional("spine_switch"), core = r.optional("core_switch");
  if (const auto transport = r.optional("transport")) out.transport = transport;
  if (link) BUSBAR_RETURN_IF_ERROR(read_link(*link, reading, out.cable));
  for (SwitchFigures& tier : out.tiers)
    if (sw) BUSBAR_RETURN_IF_ERROR(read_switch(*sw, reading, tier));
  if (spine) BUSBAR_RETURN_IF_ERROR(read_switch(*spine, reading, out.tiers[1]));
  if (core) BUSBAR_RETURN_IF_ERROR(read_switch(*core, reading, out.tiers[2]));
  if (nic) BUSBAR_RETURN_IF_ERROR(read_nic(*nic, reading, out));
  r.optional("gpudirect", &YamlNode::as_bool, out.gpudirect);
  r.optional("routing", &as_routing_policy, out.routing);
  if (cable) BUSBAR_RETURN_IF_ERROR(read_cable(*cable, reading, out));
  return {};
}

Status read_network(const YamlNode& map, Reading& reading, Network& out) {
  MapReader r = sourced(map);
  r.optional("name", &YamlNode::as_string, out.name);
  BUSBAR_RETURN_IF_ERROR(read_parts(r, reading, out));
  return r.finish();
}

/// Metres of cable at each tier.
struct Lengths {
  double nic = 0, leaf = 0, core = 0;  ///< core: from spines upwards
};

Status read_lengths(const YamlNode& map, Lengths& out) {
  constexpr double kLongest = 100'000;  // 100 km: longer than any building
  MapReader r = sourced(map);
  r.optional("nic", &YamlNode::as_number, out.nic, 0, kLongest);
  r.optional("leaf", &YamlNode::as_number, out.leaf, 0, kLongest);
  r.optional("core", &YamlNode::as_number, out.core, 0, kLongest);
  return r.finish();
}

Duration half(Duration d) { return Duration::ps(d.in_ps() / 2); }

/// Half of a switch. If the switch receives a whole frame before it sends, this time is a latency of every message for
/// fluids, whatever its size.
void add_half(const SwitchFigures& s, BytesPerSecond rate, topology::LatencyParts& out) {
  out.switching += half(s.latency);
  if (s.store_and_forward) out.frame += half(transfer_time(s.frame, rate));
}

/// The cable with its error correction, and half of the forwarding time of each of its two devices. So along a path
/// every device counts once. `low`: the lower switch; null: a NIC.
topology::LinkClass laid(const Network& n, const CableFigures& cable, double metres, const SwitchFigures* low,
                         const SwitchFigures& high) {
  topology::LinkClass c = cable.link;
  if (cable.latency) {
    c.latency = *cable.latency;
    return c;
  }
  topology::LatencyParts& p = c.latency_parts;
  if (low) add_half(*low, c.wire_rate, p);
  add_half(high, c.wire_rate, p);
  p.nic = low ? Duration() : half(n.nic_latency);
  p.fec = n.fec_latency;
  if (n.fec_contained) {  // once per device on a path: half on either side of it
    (low ? p.switching : p.nic) -= half(n.fec_latency);
    p.switching -= n.fec_latency - half(n.fec_latency);
  }
  p.cable = Duration::ps(std::llround(static_cast<double>(n.per_m.in_ps()) * metres));
  c.latency = p.sum();
  return c;
}

/// Checks that contained error correction is not longer than the latency that contains it.
Status check_fec(const Network& n, const YamlNode& map) {
  if (!n.fec_contained) return {};
  Duration shortest = n.nic_latency;
  for (const SwitchFigures& tier : n.tiers) shortest = std::min(shortest, tier.latency);
  if (n.fec_latency <= shortest) return {};
  return map.error(fmt::format(
      "the error correction takes {} and is said to be contained in {} of a NIC or switch; say 'fec_contained: false'",
      format_duration(n.fec_latency.in_s()), format_duration(shortest.in_s())));
}

/// Sets the cables and switches of each tier; `out` already has the sizes.
void lay(const Network& n, const std::vector<CableFigures>& uplinks, const Lengths& lengths,
         topology::FabricSpec& out) {
  // In a tree the links of a tier go upwards; in a dragonfly and a torus they join leaves.
  const bool flat = out.kind == topology::FabricKind::kDragonfly || out.kind == topology::FabricKind::kTorus;
  const auto tier = [&](std::size_t k) -> const SwitchFigures& {
    return n.tiers[flat ? 0 : std::min(k, n.tiers.size() - 1)];
  };
  out.levels.resize(std::max({n.tiers.size(), out.levels.size(), uplinks.size() + 1}), out.levels.back());
  out.nic_link = laid(n, n.cable, lengths.nic, nullptr, tier(0));
  for (std::size_t k = 0; k < out.levels.size(); ++k) {
    const CableFigures& up = uplinks[std::min(k, uplinks.size() - 1)];
    out.levels[k].switches = tier(k).spec;
    out.levels[k].up = laid(n, up, k == 0 ? lengths.leaf : lengths.core, &tier(k), tier(k + 1));
  }
}

}  // namespace

Result<FabricFile> read_fabric(const YamlNode& node, Reading& reading) {
  FabricFile out;
  if (node.kind() == YamlNode::Kind::kScalar && node.scalar() == "none") return out;
  BUSBAR_ASSIGN(const YamlNode map, reading.resolve(node, "fabrics"));
  Network network;
  Lengths lengths;
  MapReader r = sourced(map);
  r.optional("name");
  r.optional("formerly", &YamlNode::as_string, out.formerly);
  const YamlNode kind = r.required("kind");
  if (!r.ok()) return r.finish().error();
  BUSBAR_ASSIGN(out.spec.kind, as_enum(kind, topology::kLastFabricKind, &topology::name_of, "kind of fabric"));
  if (const auto named = r.optional("network")) {
    BUSBAR_ASSIGN(const YamlNode file, reading.resolve(*named, "networks"));
    BUSBAR_RETURN_IF_ERROR(read_network(file, reading, network));
  }
  BUSBAR_RETURN_IF_ERROR(read_parts(r, reading, network));
  BUSBAR_RETURN_IF_ERROR(read_fabric_sizes(r, out.spec));
  out.routing = network.routing;
  const auto uplink = r.optional("uplink");
  if (const auto metres = r.optional("cable_m")) {
    out.in_hall = metres->kind() == YamlNode::Kind::kScalar && metres->scalar() == "hall";
    if (!out.in_hall && metres->kind() != YamlNode::Kind::kMap)
      return metres->error("expected metres per tier, {nic: 5, leaf: 20, core: 50}, or 'hall'");
    if (!out.in_hall) BUSBAR_RETURN_IF_ERROR(read_lengths(*metres, lengths));
  }
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (out.spec.kind == topology::FabricKind::kNone) return out;
  if (!network.cable.has_rate) {
    return map.error(
        "the fabric has no rate; add 'network: infiniband-ndr', or 'link: {kind: infiniband, rate: 400Gb/s}'");
  }
  out.transport = network.transport;
  out.network = network.name.empty() ? topology::name_of(network.cable.link.kind) : network.name;
  out.gpudirect = network.gpudirect;
  out.per_m = network.per_m;
  for (const SwitchFigures& tier : network.tiers) out.power_w.push_back(tier.power_w);
  out.cable_parts = std::move(network.cable_parts);
  if (out.cable_parts.empty() && network.cable.link.kind != topology::LinkKind::kIdeal) {
    BUSBAR_ASSIGN(out.cable_parts, usual_cable_parts(reading));
  }
  BUSBAR_RETURN_IF_ERROR(check_fec(network, map));
  BUSBAR_ASSIGN(const std::vector<CableFigures> uplinks, read_uplinks(uplink, reading, network.cable));
  lay(network, uplinks, lengths, out.spec);
  out.power_w.resize(out.spec.levels.size(), out.power_w.back());
  reading.note(fmt::format("fabric {}", topology::name_of(out.spec.kind)), map);
  return out;
}

}  // namespace busbar::spec
