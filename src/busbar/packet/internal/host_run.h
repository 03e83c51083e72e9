// What the sending and the receiving side of the hosts of one part share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/packet/internal/host_settings.h"
#include "busbar/packet/internal/network.h"
#include "busbar/packet/internal/traffic.h"

namespace busbar::packet {

class Hosts;

/// A run of flows that were added together has arrived; the last byte at `at` by the wire `wire`.
struct EndedBlock {
  std::uint32_t block = 0;
  std::uint32_t wire = 0;
  Ps at = 0;
};

/// Sources of events, after those of the network: outlets, their pulls, flows (first their start, then their timer).
struct HostRun {
  HostRun(Traffic& traffic_, Pool& pool_, EventQueue& events_, const HostSettings& settings_, const NetworkPart& part_,
          PacketResult& out_)
      : wiring(traffic_.wiring),
        traffic(traffic_),
        pool(pool_),
        events(events_),
        settings(settings_),
        part(part_),
        out(out_),
        first_source(static_cast<std::uint32_t>(2 * wiring.wires().size()) + settings.faults * kFaultEvents),
        outlets(wiring.outlets().rows()),
        words(window_words()) {
    events.reserve(source_of(traffic.size()));
  }

  const Leg& leg(std::uint32_t flow, bool back) const { return traffic.legs[2 * flow + (back ? 1 : 0)]; }
  std::uint32_t source_of_pull(std::uint32_t outlet) const { return first_source + outlets + outlet; }
  std::uint32_t source_of(std::uint32_t flow) const { return first_source + 2 * outlets + flow; }
  std::uint32_t hash_of(std::uint32_t flow) const {
    return static_cast<std::uint32_t>(mix64(settings.seed ^ mix64(flow)));
  }
  std::uint32_t packets_of(std::uint32_t flow) const {
    const std::uint64_t bytes = count(traffic.list.flows[flow].bytes);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + settings.payload - 1) / settings.payload));
  }
  /// Takes a packet off the network.
  Packet take(Id id) {
    const Packet p = pool[id];
    pool.give(id);
    return p;
  }
  /// Schedules the event of the flow's start, which may be now.
  void trigger_start(std::uint32_t flow) {
    events.push(source_of(flow), traffic.ready[flow] + traffic.list.flows[flow].overhead.in_ps());
  }
  /// `flow` has got as far as `what`: flows that waited for nothing else start.
  void trigger(std::uint32_t flow, program::FlowTrigger what, Ps now);
  /// All of `flow` is there, the last byte by `wire`.
  void end_in_block(std::uint32_t flow, std::uint32_t wire, Ps now) {
    if (block_of.empty() || --left_in_block[block_of[flow]] > 0) return;
    ended_blocks.push_back({block_of[flow], wire, now});
  }

  const Wiring& wiring;
  Traffic& traffic;
  Pool& pool;
  EventQueue& events;
  Network<Hosts>* network = nullptr;
  const HostSettings settings;
  const NetworkPart& part;
  PacketResult& out;
  const std::uint32_t first_source, outlets;
  const std::uint32_t words;  ///< of one bit per packet of a window, with room for those that come late: a power of two
  std::uint64_t finished = 0, delivered = 0;           ///< flows; packets, as a sign of life
  std::vector<std::uint32_t> block_of, left_in_block;  ///< only if blocks were added
  std::vector<EndedBlock> ended_blocks;

 private:
  std::uint32_t window_words() const;
};

}  // namespace busbar::packet
