// Hosts, switches and events of a run, or of one part of it on a separate thread.
#pragma once

#include <span>
#include <string>

#include "busbar/packet/internal/hosts.h"
#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/traffic.h"

namespace busbar::packet {

struct RunningPart {
  RunningPart(Wiring& wiring_, Traffic& traffic, const Profile& profile, int bucket_bits, const NetworkPart& part_ = {})
      : wiring(wiring_),
        part(part_),
        events(bucket_bits),
        hosts(traffic, pool, events, profile.hosts, part, out),
        network(wiring, pool, events, profile.network, hosts),
        wires(static_cast<std::uint32_t>(wiring.wires().size())),
        first_of_hosts(hosts.first_source()) {
    hosts.join(network);
  }
  RunningPart(const RunningPart&) = delete;
  /// Executes an event taken from `events`. It is inlined into the loops that call it: a call per event costs 3 %.
  [[gnu::always_inline]] void take(const EventQueue::Event& e) {
    network.foresee();
    if (e.source < wires) {
      network.arrive(e.source, e.time);
    } else if (e.source < 2 * wires) {
      network.depart(e.source - wires, e.time);
    } else if (e.source < first_of_hosts) {
      if (network.take_fault(e.source, e.time)) wiring.route_around([&](auto w) { return network.down(w); });
    } else {
      hosts.take_event(e.source, e.time);
    }
  }

  Wiring& wiring;
  const NetworkPart part;
  PacketResult out;  ///< counts; `traffic` holds the outcomes of flows
  Pool pool;
  EventQueue events;
  Hosts hosts;
  Network<Hosts> network;
  const std::uint32_t wires, first_of_hosts;  ///< event sources: arrivals below the first, hosts from the second on
};

inline constexpr Ps kStillTimeouts = 20;  ///< silent timeouts after which a run with faults is given up

/// After the last flow has ended, a run goes on for the latency of its longest cable. So its counts do not depend on
/// how it was cut into parts.
Ps ends_after(const Wiring& wiring);
/// The names of links that wait for each other in a cycle; empty if there is none.
std::string cycle_of_waits(const RunningPart& part);
/// Why nothing arrives any more at `now` in a run without faults, and what helps.
Error standstill(const RunningPart& part, Ps now);
/// What a part has counted so far.
PacketCounts counts_of(const RunningPart& part);
/// The sum of all parts, with links and digest. Moves the outcomes out of `traffic`.
PacketResult collect(std::span<RunningPart* const> parts, Traffic& traffic);

}  // namespace busbar::packet
