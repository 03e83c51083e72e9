// Priority flow control: who fills a shared buffer beyond its part is told to stop, and later to go on.
//
// Sources: IEEE 802.1Qbb (per-priority pause); Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory
// packet switches", IEEE/ACM Trans. Networking 1998 (threshold = factor x free buffer).
#pragma once

#include "busbar/engine/packet/network.h"

namespace busbar::packet {

template <class Hosts>
std::int64_t Network<Hosts>::pause_threshold(std::uint32_t node) const {
  const std::int64_t free = std::max<std::int64_t>(0, shared_[node] - held_[node]);
  return options_.pause_fixed > 0 ? options_.pause_fixed : free * options_.pause_eighths / 8;
}

/// A packet that came by wire `from` now occupies buffer at `node`.
template <class Hosts>
void Network<Hosts>::hold(std::uint32_t from, std::uint32_t node, std::uint32_t size, Ps now) {
  Ingress& in = ingress_[from];
  const bool above = in.bytes + size > pause_threshold(node);
  in.bytes += size;
  if (above) {
    in.headroom += size;
  } else {
    held_[node] += size;
  }
  if (above && !in.pausing) {
    in.pausing = true;
    send_pause(from, Kind::kPause, now);
  }
}

/// The packet that was being sent has left the buffer.
template <class Hosts>
void Network<Hosts>::release(std::uint32_t wire, Port& o, Ps now) {
  if (o.serving == 0) return;
  Ingress& in = ingress_[o.serving_from];
  const std::uint32_t node = wiring_.wires()[wire].from;
  const std::uint32_t spare = std::min(in.headroom, o.serving);
  in.headroom -= spare;
  held_[node] -= o.serving - spare;
  in.bytes -= o.serving;
  o.serving = 0;
  const std::int64_t resume = std::max<std::int64_t>(0, pause_threshold(node) - options_.resume_below);
  if (in.pausing && in.headroom == 0 && in.bytes <= resume) {
    in.pausing = false;
    send_pause(o.serving_from, Kind::kResume, now);
  }
}

/// A frame to whoever sends on wire `from`: before everything else, after what is on the wire.
template <class Hosts>
void Network<Hosts>::send_pause(std::uint32_t from, Kind kind, Ps now) {
  const std::uint32_t back = from ^ 1;
  Port& o = ports_[back];
  const Id id = pool_.take();
  Packet& p = pool_[id];
  p = Packet{};
  p.kind = kind;
  p.size = static_cast<std::uint16_t>(options_.header_bytes);
  p.time = now;
  if (!o.armed) return transmit(back, id, now);
  o.control.push_front(pool_, id);
  o.queued_control += p.size;
}

/// The port that sends on `wire` may no longer, or may again, send data.
template <class Hosts>
void Network<Hosts>::take_pause(std::uint32_t wire, Kind kind, Ps now) {
  Port& o = ports_[wire];
  if (o.host) hosts_.before_pause(wire, now);
  if (kind == Kind::kPause && !o.stopped) {
    o.stopped = 1;
    o.paused_since = now;
    ++o.pauses;
  } else if (kind == Kind::kResume && o.stopped) {
    o.stopped = 0;
    o.paused += now - o.paused_since;
  }
  if (o.host) return hosts_.after_pause(wire, now);
  if (!o.stopped && !o.armed) serve(wire, o, now);
}

}  // namespace busbar::packet
