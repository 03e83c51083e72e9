// Hosts: what the network and the loop of events call. Flows go from a sending side to a receiving one.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/host_run.h"
#include "busbar/packet/internal/receiving.h"
#include "busbar/packet/internal/sending.h"

namespace busbar::packet {

class Hosts {
 public:
  /// The hosts of `part`; counts are written to `out`.
  Hosts(Traffic& traffic, Pool& pool, EventQueue& events, const HostSettings& settings, const NetworkPart& part,
        PacketResult& out)
      : run_(traffic, pool, events, settings, part, out), sending_(run_), receiving_(run_, sending_) {}
  void join(Network<Hosts>& network) { run_.network = &network; }
  /// Starts the flows without dependencies.
  void begin();
  /// Makes one block of the last `flows` of the traffic, which are new. Returns how many of them end in this part.
  std::uint32_t add_block(std::uint32_t flows);
  /// Blocks all of whose flows to this part have arrived, in order, until the caller removes them.
  std::vector<EndedBlock>& ended_blocks() { return run_.ended_blocks; }
  std::uint32_t ended_blocks_waiting() const { return static_cast<std::uint32_t>(run_.ended_blocks.size()); }

  std::uint32_t first_source() const { return run_.first_source; }
  void take_event(std::uint32_t source, Ps now);

  std::uint32_t flows() const { return run_.traffic.size(); }
  const Leg& leg(std::uint32_t flow, bool back) const { return run_.leg(flow, back); }
  void foresee(const Packet& p) const {
    const bool data = p.kind == Kind::kData;
    const std::uint32_t slot = data ? run_.traffic.receiver_of[p.flow] : run_.traffic.sender_of[p.flow];
    if (slot >= kOver) return;
    data ? receiving_.foresee(slot) : sending_.foresee(slot);
  }
  void deliver(Id id, Ps now);
  void run_dry(std::uint32_t wire, Ps now) { sending_.run_dry(wire, now); }
  void lost(Id id) { run_.pool.give(id); }
  void before_pause(std::uint32_t wire, Ps now) { sending_.before_pause(wire, now); }
  void after_pause(std::uint32_t wire, Ps now) { sending_.after_pause(wire, now); }
  void send_first(std::uint32_t wire, Id id, Ps now) { sending_.send_first(wire, id, now); }

  std::uint64_t delivered() const { return run_.delivered; }
  std::uint64_t finished() const { return run_.finished; }
  std::uint64_t silences() const { return sending_.silences(); }
  void settle_all(Ps now) { sending_.settle_all(now); }
  void sample(std::vector<PacketFlowSample>& out) const { sending_.sample(out); }

 private:
  bool starts_here(std::uint32_t flow) const {
    return run_.traffic.waits_for[flow] == 0 && run_.part.sends(run_.wiring, run_.leg(flow, false));
  }
  void end_work(std::uint32_t flow, Ps now);

  HostRun run_;
  Sending sending_;
  Receiving receiving_;
};

}  // namespace busbar::packet
