// Small networks for the tests of the packet engine.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/packet/packet_list.h"
#include "busbar/topology/topology.h"

namespace busbar::packet {

constexpr std::int64_t kSlot = 83'200;  ///< ps of a full packet of 4,160 bytes at 50 GB/s, the rate of cable()

/// Hosts of one GPU and one NIC with nothing between them.
inline topology::NodeTemplate bare_host() {
  topology::NodeTemplate node;
  node.name = "host";
  topology::DeviceClass gpu, nic;
  nic.kind = topology::DeviceKind::kNic;
  node.devices = {{gpu, "gpu0"}, {nic, "nic0"}};
  topology::LinkClass joint;
  joint.kind = topology::LinkKind::kPcie;
  joint.wire_rate = BytesPerSecond{1'000'000'000'000'000};
  node.links = {{0, 1, joint}};
  return node;
}

inline topology::LinkClass cable(std::uint64_t bytes_per_s, Duration latency) {
  topology::LinkClass c;
  c.kind = topology::LinkKind::kIdeal;
  c.wire_rate = BytesPerSecond{bytes_per_s};
  c.latency = latency;
  return c;
}

/// A leaf-spine network: `per_leaf` hosts on each of `leaves` leaves, one cable to each of `spines` spines.
struct LeafSpine {
  topology::Topology topology;
  routing::Router router;
  program::FlowList list;

  LeafSpine(std::uint32_t leaves, std::uint32_t per_leaf, std::uint32_t spines,
            topology::LinkClass link = cable(50'000'000'000, Duration::ns(500)))
      : topology(build(leaves, per_leaf, spines, link)), router(topology, topology::RoutingPolicy::kStatic) {}

  void add(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, Duration start = {},
           std::vector<std::uint32_t> after = {}, program::FlowTrigger trigger = program::FlowTrigger::kReceived) {
    const topology::DeviceId a = topology.gpus()[from], b = topology.gpus()[to];
    list.flows.push_back(
        {a, b, router.nearest_nic(a, 0), router.nearest_nic(b, 0), Bytes{bytes}, SimTime::at(start), trigger});
    for (const std::uint32_t f : after) list.after.values.push_back(f);
    list.after.close_row();
  }
  PacketResult run(PacketOptions options = {}) const { return run_packet_list(router, list, options).value(); }

  static topology::Topology build(std::uint32_t leaves, std::uint32_t per_leaf, std::uint32_t spines,
                                  const topology::LinkClass& link) {
    topology::TopologyBuilder b;
    const std::uint32_t host = b.add_template(bare_host());
    for (std::uint32_t h = 0; h < leaves * per_leaf; ++h) b.add_block(host);
    topology::DeviceClass leaf, spine;
    leaf.kind = topology::DeviceKind::kLeaf;
    spine.kind = topology::DeviceKind::kSpine;
    std::vector<topology::DeviceId> up, down;
    for (std::uint32_t l = 0; l < leaves; ++l) up.push_back(b.add_switch(leaf, "leaf" + std::to_string(l)));
    for (std::uint32_t s = 0; s < spines; ++s) down.push_back(b.add_switch(spine, "spine" + std::to_string(s)));
    for (std::uint32_t h = 0; h < leaves * per_leaf; ++h)
      b.connect(b.device(static_cast<topology::BlockId>(h), 1), up[h / per_leaf], link);
    for (const topology::DeviceId l : up)
      for (const topology::DeviceId s : down) b.connect(l, s, link);
    return std::move(b).seal();
  }
};

/// The one cable of host `h`, towards its leaf.
inline topology::LinkId uplink(const LeafSpine& n, std::uint32_t h) {
  const topology::DeviceId nic = n.router.nearest_nic(n.topology.gpus()[h], 0);
  for (const topology::LinkId l : n.topology.out_links(nic))
    if (n.topology.kind(n.topology.to(l)) == topology::DeviceKind::kLeaf) return l;
  return kNone<topology::LinkId>;
}

inline topology::LinkId named(const LeafSpine& n, const std::string& name) {
  for (std::uint32_t l = 0; l < n.topology.link_count(); ++l)
    if (n.topology.name(static_cast<topology::LinkId>(l)) == name) return static_cast<topology::LinkId>(l);
  ADD_FAILURE() << name;
  return kNone<topology::LinkId>;
}

}  // namespace busbar::packet
