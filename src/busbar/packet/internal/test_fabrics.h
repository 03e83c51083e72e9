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
inline NodeTemplate bare_host() {
  NodeTemplate node;
  node.name = "host";
  DeviceClass gpu, nic;
  nic.kind = DeviceKind::kNic;
  node.devices = {{gpu, "gpu0"}, {nic, "nic0"}};
  LinkClass joint;
  joint.kind = LinkKind::kPcie;
  joint.wire_rate = BytesPerSecond{1'000'000'000'000'000};
  node.links = {{0, 1, joint}};
  return node;
}

inline LinkClass cable(std::uint64_t bytes_per_s, Duration latency) {
  LinkClass c;
  c.kind = LinkKind::kIdeal;
  c.wire_rate = BytesPerSecond{bytes_per_s};
  c.latency = latency;
  return c;
}

/// A leaf-spine network: `per_leaf` hosts on each of `leaves` leaves, one cable to each of `spines` spines.
struct LeafSpine {
  Topology topology;
  Router router;
  FlowList list;

  LeafSpine(std::uint32_t leaves, std::uint32_t per_leaf, std::uint32_t spines,
            LinkClass link = cable(50'000'000'000, Duration::ns(500)))
      : topology(build(leaves, per_leaf, spines, link)), router(topology, RoutingPolicy::kStatic) {}

  void add(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, Duration start = {},
           std::vector<std::uint32_t> after = {}, FlowTrigger trigger = FlowTrigger::kReceived) {
    const DeviceId a = topology.gpus()[from], b = topology.gpus()[to];
    list.flows.push_back(
        {a, b, router.nearest_nic(a, 0), router.nearest_nic(b, 0), Bytes{bytes}, SimTime::at(start), trigger});
    for (const std::uint32_t f : after) list.after.values.push_back(f);
    list.after.close_row();
  }
  PacketResult run(PacketOptions options = {}) const { return run_packet_list(router, list, options).value(); }

  static Topology build(std::uint32_t leaves, std::uint32_t per_leaf, std::uint32_t spines, const LinkClass& link) {
    TopologyBuilder b;
    const std::uint32_t host = b.add_template(bare_host());
    for (std::uint32_t h = 0; h < leaves * per_leaf; ++h) b.add_block(host);
    DeviceClass leaf, spine;
    leaf.kind = DeviceKind::kLeaf;
    spine.kind = DeviceKind::kSpine;
    std::vector<DeviceId> up, down;
    for (std::uint32_t l = 0; l < leaves; ++l) up.push_back(b.add_switch(leaf, "leaf" + std::to_string(l)));
    for (std::uint32_t s = 0; s < spines; ++s) down.push_back(b.add_switch(spine, "spine" + std::to_string(s)));
    for (std::uint32_t h = 0; h < leaves * per_leaf; ++h)
      b.connect(b.device(static_cast<BlockId>(h), 1), up[h / per_leaf], link);
    for (const DeviceId l : up)
      for (const DeviceId s : down) b.connect(l, s, link);
    return std::move(b).seal();
  }
};

/// The one cable of host `h`, towards its leaf.
inline LinkId uplink(const LeafSpine& n, std::uint32_t h) {
  const DeviceId nic = n.router.nearest_nic(n.topology.gpus()[h], 0);
  for (const LinkId l : n.topology.out_links(nic))
    if (n.topology.kind(n.topology.to(l)) == DeviceKind::kLeaf) return l;
  return kNone<LinkId>;
}

inline LinkId named(const LeafSpine& n, const std::string& name) {
  for (std::uint32_t l = 0; l < n.topology.link_count(); ++l)
    if (n.topology.name(static_cast<LinkId>(l)) == name) return static_cast<LinkId>(l);
  ADD_FAILURE() << name;
  return kNone<LinkId>;
}

}  // namespace busbar::packet
