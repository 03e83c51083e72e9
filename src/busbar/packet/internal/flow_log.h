// The log of chosen flows, as hosts and switches write it.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/record.h"
#include "busbar/packet/watch.h"

namespace busbar::packet {

class FlowLog {
 public:
  FlowLog(const PacketLog& log, std::uint32_t flows) : take_(log.take), wanted_(flows) {
    for (const std::uint32_t f : log.flows) wanted_[f] = true;
  }
  void note(Ps now, std::uint32_t flow, PacketEvent event, std::uint32_t packet, double window = 0) const {
    if (wanted_[flow]) take_({SimTime::at(Duration::ps(now)), flow, event, packet, kNone<topology::LinkId>, 0, window});
  }
  void note_at(Ps now, const Packet& p, PacketEvent event, topology::LinkId link, std::uint64_t queue) const {
    if (p.kind == Kind::kData && p.seq != kNone32 && wanted_[p.flow])
      take_({SimTime::at(Duration::ps(now)), p.flow, event, p.seq, link, queue, 0});
  }

 private:
  const std::function<void(const PacketLogEntry&)>& take_;
  std::vector<bool> wanted_;
};

}  // namespace busbar::packet
