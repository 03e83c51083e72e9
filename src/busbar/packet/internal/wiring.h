// The machine as packets need it: wires and next hops in flat tables, computed before the first packet.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/result.h"
#include "busbar/packet/internal/record.h"
#include "busbar/program/flow_list.h"
#include "busbar/routing/fabric_table.h"
#include "busbar/routing/router.h"

namespace busbar::packet {

/// One direction of a cable.
struct Wire {
  topology::LinkId link{};
  std::uint32_t from = 0, to = 0;         ///< nodes
  std::uint64_t ps_bytes = 1, bytes = 1;  ///< ps_bytes / bytes picoseconds per byte
  Ps latency = 0;
  bool in_server = false;  ///< PCIe, NVLink and the like
  bool joint = false;      ///< between a host and the device that sends for it: no link of the machine

  Ps transfer(std::uint64_t size) const { return static_cast<Ps>((size * ps_bytes + bytes - 1) / bytes); }
};

/// One direction of a connection.
struct Leg {
  std::uint32_t outlet = 0;  ///< the outlet where it leaves its host
  std::uint32_t target = 0;  ///< the node at which it ends
  std::uint32_t nic = 0;     ///< the NIC where it leaves the fabric; kNone32 inside a server or at a switch
  std::uint32_t inner = 0;   ///< row of inner hops: the hops at nodes that are no fabric switch
};

/// A pair of devices with the paths in both directions. Times are those of an idle network.
struct Route {
  Leg forth, back;
  Ps latency = 0;             ///< of the links, one way
  std::uint32_t slowest = 0;  ///< its slowest wire
  std::uint32_t hops = 0;
};

/// Nodes [0, switches()) are the fabric's switches. The others are devices inside servers that some route crosses. Two
/// devices with an ideal joint between them (no latency, 1 PB/s or more) are one node.
class Wiring {
 public:
  explicit Wiring(const routing::Router& router, program::RateShares shares = {});
  /// The route of a pair, made at the first request. One end may be a switch that adds, or both if they are neighbours.
  /// Errors: kUnreachable with the pair.
  Result<std::uint32_t> route(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from,
                              topology::DeviceId nic_to);
  /// Fills the tables of next hops. Call it once, after the last route().
  void seal();
  /// Makes wires of all cables between switches, also of those on no shortest path. Call it before seal().
  void add_all_cables();
  /// Computes the tables again without the wires w for which `down`(w). Paths of devices inside servers stay.
  void route_around(const std::function<bool(std::uint32_t)>& down);
  /// The wire of a link; kNone32 if no route can cross the link.
  std::uint32_t find(topology::LinkId l) const { return wire_[index(l)]; }

  std::span<const Wire> wires() const { return wires_; }
  const Route& route(std::uint32_t r) const { return routes_[r]; }
  std::uint32_t switches() const { return switches_; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(device_of_.size()); }
  /// The groups of wires by which hosts send.
  const Csr<std::uint32_t>& outlets() const { return outlets_; }
  /// Wires by which a fabric switch may forward to a NIC: those of all shortest paths.
  [[gnu::always_inline]] std::span<const std::uint32_t> next(std::uint32_t node, std::uint32_t nic) const {
    const Nic& n = nics_[nic];
    const std::uint32_t set = table_[std::size_t{node} * groups_ + n.group];
    if (set != kLast) return sets_.row(set);
    return n.cables == 1 ? std::span(by_).subspan(n.first, 1) : last_hop(node, n);
  }
  /// The same at a node inside a server, for one leg.
  std::span<const std::uint32_t> next_inside(std::uint32_t node, const Leg& leg) const;
  /// Prefetches what next() reads; changes nothing.
  void foresee(std::uint32_t node, const Leg& leg) const {
    if (node < switches_ && leg.nic != kNone32) prefetch(&nics_[leg.nic]);
  }
  const topology::Topology& topology() const { return topology_; }
  /// Wires of the machine by which an outlet sends; its row in outlets() may be one joint instead.
  std::uint32_t width(std::uint32_t outlet) const { return width_[outlet]; }
  /// From now on idle times are those of switches that forward a packet when `header` bytes of it have arrived.
  void cut_through(std::uint32_t header) { cut_header_ = header; }
  /// Whether a packet from `in` may leave by `out` before all of it has arrived: at a switch, if `out` is not faster.
  bool cuts(std::uint32_t in, std::uint32_t out) const {
    return wires_[in].to < switches_ &&
           wires_[in].ps_bytes * wires_[out].bytes <= wires_[out].ps_bytes * wires_[in].bytes;
  }
  /// Time of one packet of `size` bytes over an idle route.
  Ps idle_time(std::uint32_t route, std::uint64_t size) const;
  /// How long a whole transfer takes until the acknowledgement of its last packet is back. Pre: sealed.
  Ps time_alone(std::uint32_t route, std::uint64_t bytes, std::uint32_t payload, std::uint32_t header) const;

 private:
  static constexpr std::uint32_t kLast = 0xffff;
  struct Nic {
    std::uint32_t group = 0, node = 0;
    std::uint32_t first = 0, cables = 0;  ///< its range in by_
  };
  struct Inner {
    std::uint32_t node;
    std::vector<std::uint32_t> wires;
  };

  std::span<const std::uint32_t> last_hop(std::uint32_t node, const Nic& nic) const;
  std::uint32_t node_of(topology::DeviceId d);
  std::uint32_t wire_of(topology::LinkId l);
  std::uint32_t nic_of(topology::DeviceId d);
  bool is_switch(topology::DeviceId d) const;
  Result<std::vector<topology::LinkId>> links_to_switch(topology::DeviceId from, topology::DeviceId to,
                                                        topology::DeviceId nic_from, topology::DeviceId nic_to) const;
  void add_leg_of(const std::vector<topology::LinkId>& links, topology::DeviceId from, topology::DeviceId to, Leg& leg,
                  Route& route);
  void add_idle_walk(const std::vector<std::uint32_t>& wires, std::uint32_t home, std::uint32_t target, Route& route);
  Status add_leg(const std::vector<routing::LinkShare>& path, topology::DeviceId from, topology::DeviceId to, Leg& leg,
                 Route& route);
  void add_first_cables(topology::DeviceId nic, std::uint32_t towards, std::vector<Inner>& inner);
  std::uint32_t outlet_of(std::vector<std::uint32_t> wires);
  std::uint32_t fabric_hops(std::uint32_t from_switch, std::uint32_t nic);
  std::uint32_t set_of(std::uint32_t node, const std::vector<std::uint32_t>& finals);
  std::uint32_t set_number(const std::vector<std::uint32_t>& wires);
  std::uint32_t group_of(std::vector<std::uint32_t> finals);
  std::vector<std::uint8_t> users_of_outlets() const;
  void set_senders_apart();
  std::uint32_t add_joint(std::span<const std::uint32_t> outlet);
  void regroup(const std::function<bool(std::uint32_t)>& down);
  std::vector<std::uint32_t> hops_to(const std::vector<std::uint32_t>& finals,
                                     const std::function<bool(std::uint32_t)>& down) const;

  const routing::Router& router_;
  const topology::Topology& topology_;
  const program::RateShares shares_;
  routing::FabricTable fabric_;
  std::uint32_t switches_ = 0, groups_ = 0;
  std::vector<topology::DeviceId> device_of_;              ///< per node, the first device of it
  std::unordered_map<std::uint32_t, std::uint32_t> node_;  ///< device -> node; looked up only
  std::vector<std::uint32_t> wire_;                        ///< link -> wire
  std::vector<Wire> wires_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> outlet_, group_, set_;
  std::vector<std::vector<std::uint32_t>> finals_;  ///< per group: switches with a cable to its NICs
  Csr<std::uint32_t> outlets_, sets_;
  std::vector<std::uint32_t> width_;                      ///< per outlet
  std::unordered_map<std::uint32_t, std::uint32_t> nic_;  ///< device -> nics_; looked up only
  std::vector<Nic> nics_;
  std::vector<std::uint32_t> by_;      ///< wires from switches to NICs
  std::vector<std::uint32_t> all_by_;  ///< by_ without any wire down; empty until one goes down
  std::vector<Nic> all_nics_;
  std::vector<std::vector<Inner>> inner_;
  std::map<std::array<std::uint32_t, 4>, std::uint32_t> pair_;
  std::vector<Route> routes_;
  std::uint32_t cut_header_ = 0;                  ///< 0: store and forward
  std::vector<std::vector<std::uint32_t>> path_;  ///< per route: the wires of one path
  std::vector<std::uint16_t> table_;
};

}  // namespace busbar::packet
