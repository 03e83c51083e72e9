#include "busbar/spec/fabric_file.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/spec/fabric_sizes.h"

namespace busbar {
namespace {

/// A network's figures before they are laid out: the catalogue's, with the fabric file's own in their place.
struct Network {
  std::string name;
  LinkClass link;
  bool has_rate = false;
  std::optional<Duration> link_latency;  ///< as stated; else computed
  SwitchSpec leaf;
  Duration switch_latency, nic_latency, fec_latency, per_m;
  bool store_and_forward = false;
  Bytes frame{0};  ///< largest; what a store-and-forward switch takes in before it sends on
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

Status read_switch(const YamlNode& map, Reading& reading, Network& out) {
  MapReader r(map);
  accept_provenance(r);
  r.optional("part", &YamlNode::as_string, out.leaf.part);
  r.optional("latency", &YamlNode::as_duration, out.switch_latency);
  r.optional("reduces", &YamlNode::as_bool, out.leaf.reduces);
  r.optional("frame", &YamlNode::as_size, out.frame);
  const auto ports = r.optional("ports"), splits = r.optional("splits"), forwarding = r.optional("forwarding");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (splits) {
    BUSBAR_ASSIGN(const std::int64_t n, splits->as_int(1, 8));
    out.leaf.splits = static_cast<std::uint32_t>(n);
  }
  if (forwarding) {
    BUSBAR_ASSIGN(const std::size_t way, as_one_of(*forwarding, {"cut-through", "store-and-forward"}, "forwarding"));
    out.store_and_forward = way == 1;
    if (out.store_and_forward && count(out.frame) == 0) {
      return forwarding->error("a store-and-forward switch needs 'frame', for example 'frame: 4KiB'");
    }
  }
  if (ports) {
    BUSBAR_ASSIGN(const std::int64_t n, ports->as_int(2, 1'000'000));
    out.leaf.ports = static_cast<std::uint32_t>(n);
  }
  reading.note(fmt::format("switch {}, {} ports", out.leaf.part, out.leaf.ports), map);
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

Status read_cable(const YamlNode& map, Network& out) {
  MapReader r(map);
  accept_provenance(r);
  r.optional("latency_per_m", &YamlNode::as_duration, out.per_m);
  r.optional("fec", &YamlNode::as_duration, out.fec_latency);
  return r.finish();
}

/// The keys that a network file and a fabric file share.
Status read_parts(MapReader& r, Reading& reading, Network& out) {
  const auto link = r.optional("link"), sw = r.optional("switch"), nic = r.optional("nic"), cable = r.optional("cable");
  if (link) BUSBAR_RETURN_IF_ERROR(read_link(*link, reading, out));
  if (sw) BUSBAR_RETURN_IF_ERROR(read_switch(*sw, reading, out));
  if (nic) BUSBAR_RETURN_IF_ERROR(read_nic(*nic, reading, out));
  if (cable) BUSBAR_RETURN_IF_ERROR(read_cable(*cable, out));
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

/// The cable with its error correction, and half of the time that each of its two devices takes to forward: along a
/// path the halves add up to every device once.
LinkClass laid(const Network& n, double metres, Duration device_a, Duration device_b) {
  LinkClass c = n.link;
  const auto halves = (device_a.in_ps() + device_b.in_ps()) / 2;
  const auto wire = std::llround(static_cast<double>(n.per_m.in_ps()) * metres);
  c.latency = n.link_latency ? *n.link_latency : Duration::ps(halves + wire + n.fec_latency.in_ps());
  return c;
}

/// Port to port; a store-and-forward switch also takes in a whole frame. Fluids see this as a latency of every message,
/// whatever its size.
Duration through(const Network& n) {
  if (!n.store_and_forward || !n.has_rate) return n.switch_latency;
  return n.switch_latency + transfer_time(n.frame, n.link.wire_rate);
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
  if (const auto metres = r.optional("cable_m")) BUSBAR_RETURN_IF_ERROR(read_lengths(*metres, lengths));
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (out.spec.kind == FabricKind::kNone) return out;
  if (!network.has_rate) {
    return map.error(
        "the fabric has no rate; add 'network: infiniband-ndr', or 'link: {kind: infiniband, rate: 400Gb/s}'");
  }
  out.network = network.name.empty() ? name_of(network.link.kind) : network.name;
  out.spec.leaf = out.spec.spine = out.spec.core = network.leaf;
  const Duration hop = through(network);
  out.spec.nic_link = laid(network, lengths.nic, network.nic_latency, hop);
  out.spec.leaf_link = laid(network, lengths.leaf, hop, hop);
  out.spec.core_link = laid(network, lengths.core, hop, hop);
  out.latency = {network.nic_latency, network.switch_latency, hop - network.switch_latency,
                 network.fec_latency, network.per_m,          network.link_latency};
  reading.note(fmt::format("fabric {}", name_of(out.spec.kind)), map);
  return out;
}

}  // namespace busbar
