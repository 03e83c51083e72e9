// Links that lose packets, slow down or fail, and hosts that are slow or pause without end.
//
// Only wires with Port::troubled run this code. A packet is lost at the place where it would have arrived. Pause frames
// and credits are never lost: real wires repeat them in time (802.1Qbb timers; InfiniBand's flow control packets carry
// totals). A lost packet returns its credits for the same reason. With link-level retry the sending end repeats what
// the link loses after a round trip of the link, and what follows it on the link waits, so nothing is lost and the
// order stays.
#pragma once

#include <numeric>

#include "busbar/packet/internal/network.h"

namespace busbar::packet {

template <class Hosts>
void Network<Hosts>::begin_faults() {
  trouble_.resize(options_.faults.empty() ? 0 : ports_.size());
  for (std::uint32_t i = 0; i < options_.faults.size(); ++i) {
    const WireFault& f = options_.faults[i];
    ports_[f.wire].troubled = 1;
    schedule(i, FaultEvent::kBegins, f.from);
    if (f.until < INT64_MAX) schedule(i, FaultEvent::kEnds, f.until);
  }
}

template <class Hosts>
void Network<Hosts>::schedule(std::uint32_t fault, FaultEvent what, Ps at) {
  events_.push(static_cast<std::uint32_t>(2 * ports_.size()) + fault * kFaultEvents + static_cast<std::uint32_t>(what),
               at);
  if (what != FaultEvent::kServes) ++changes_to_come_;
}

/// Returns whether switches must compute their routes again.
template <class Hosts>
bool Network<Hosts>::take_fault(std::uint32_t source, Ps now) {
  const std::uint32_t n = source - static_cast<std::uint32_t>(2 * ports_.size());
  const std::uint32_t fault = n / kFaultEvents;
  const auto what = static_cast<FaultEvent>(n % kFaultEvents);
  const WireFault& f = options_.faults[fault];
  if (what == FaultEvent::kServes) {
    serve_slowly(f.wire, now);
    return false;
  }
  --changes_to_come_;
  if (what == FaultEvent::kReroutes || what == FaultEvent::kRoutesBack) return true;
  const bool begins = what == FaultEvent::kBegins;
  change(fault, begins, now);
  if (f.kind == PacketFault::Kind::kDown && options_.reroute_after < INT64_MAX)
    schedule(fault, begins ? FaultEvent::kReroutes : FaultEvent::kRoutesBack, now + options_.reroute_after);
  return false;
}

template <class Hosts>
void Network<Hosts>::change(std::uint32_t fault, bool begins, Ps now) {
  const WireFault& f = options_.faults[fault];
  Trouble& t = trouble_[f.wire];
  Port& o = ports_[f.wire];
  switch (f.kind) {
    case PacketFault::Kind::kDown:
      t.down += begins ? 1 : -1;
      return;
    case PacketFault::Kind::kLoss:
      if (!t.slow) t.serves = fault;
      t.loss = begins ? static_cast<std::uint64_t>(f.value * 0x1p32) : 0;
      return;
    case PacketFault::Kind::kRate:
      if (o.host) {
        hosts_.before_pause(f.wire, now);
      } else {
        settle(f.wire, o, now);
      }
      return set_rate(f.wire, begins ? f.value : 1);
    case PacketFault::Kind::kSlow:
      t.slow = begins;
      t.serves = fault;
      return;
    case PacketFault::Kind::kStorm:
      t.storm = begins;
      if (credits()) {  // the host takes nothing out of its buffer, so no credits come back
        if (!t.slow) t.serves = fault;
        return serve_next(f.wire, now);
      }
      if (begins) return tell(f.wire, Kind::kPause, now);
      if (!t.full) tell(f.wire, Kind::kResume, now);
  }
}

template <class Hosts>
void Network<Hosts>::tell(std::uint32_t wire, Kind kind, Ps now) {
  if (part_ != nullptr && !part_->owns(ports_[wire].to)) return;  // all parts take the event, one has the host
  for (std::uint32_t l = 0; l < lane_count_ && pausing(); ++l) send_pause(wire, kind, l, now);
}

template <class Hosts>
void Network<Hosts>::set_rate(std::uint32_t wire, double factor) {
  const Wire& w = wiring_.wires()[wire];
  Speed s{w.latency, static_cast<std::uint32_t>(w.ps_bytes), static_cast<std::uint32_t>(w.bytes)};
  const double rate = 1e12 * static_cast<double>(w.bytes) / static_cast<double>(w.ps_bytes) * factor;
  const auto whole = std::max<std::uint64_t>(1000, static_cast<std::uint64_t>(rate));  // at least 1 kB/s
  const std::uint64_t common = std::gcd<std::uint64_t>(1'000'000'000'000u, whole / 1000 * 1000);
  if (factor != 1) {
    s.ps_bytes = static_cast<std::uint32_t>(1'000'000'000'000u / common);
    s.bytes = static_cast<std::uint32_t>(whole / 1000 * 1000 / common);
  }
  ports_[wire].speed = speed_of(s);
}

/// Whether a record at the end of a wire with faults goes on from there now.
template <class Hosts>
bool Network<Hosts>::survives(std::uint32_t wire, Id id, Ps now) {
  Packet& p = pool_[id];
  if (p.kind >= Kind::kPause) return true;
  Trouble& t = trouble_[wire];
  const bool payload = p.kind == Kind::kData && !(p.flags & kTrimmed);
  if (t.down > 0 || (!options_.link_retry && loses(wire, t))) {
    lose(wire, id, now);
    return false;
  }
  bool again = false;
  for (; options_.link_retry && loses(wire, t); again = true)
    t.again = std::max(t.again, now) + 2 * wiring_.wires()[wire].latency + speed(ports_[wire]).transfer(p.size);
  if (!again && (!payload || (!t.slow && !stuck(t) && t.waiting.empty()))) return true;
  if (!eager_ && t.bytes + p.size > options_.receiver_bytes) {
    lose(wire, id, now);
    return false;
  }
  p.time = now;
  t.bytes += p.size;
  t.waiting.push(pool_, id);
  if (!t.full && t.bytes > options_.receiver_bytes) {
    t.full = true;
    tell(wire, Kind::kPause, now);
  }
  serve_next(wire, now);
  return false;
}

template <class Hosts>
void Network<Hosts>::lose(std::uint32_t wire, Id id, Ps now) {
  const Packet p = pool_[id];
  note_trouble(wire, ports_[wire], pool_[id], PacketEvent::kDropped, now);
  hosts_.lost(id);
  if (credits() && p.kind == Kind::kData && !(p.flags & kTrimmed)) give_back(wire, lane_of(p), p.size, now);
}

template <class Hosts>
Ps Network<Hosts>::service_time(std::uint32_t wire, const Trouble& t) const {
  const Ps full = speed(ports_[wire]).transfer(pool_[t.waiting.head].size);
  return t.slow ? static_cast<Ps>(static_cast<double>(full) / options_.faults[t.serves].value) : full;
}

/// The host at the end of the wire begins to take the next packet out of its buffer, unless it is at it.
template <class Hosts>
void Network<Hosts>::serve_next(std::uint32_t wire, Ps now) {
  Trouble& t = trouble_[wire];
  if (t.serving || stuck(t) || t.waiting.empty()) return;
  t.serving = true;
  events_.push(serving_source(t), now < t.again ? t.again : now + service_time(wire, t));
}

/// The slow host has taken one packet out of its buffer.
template <class Hosts>
void Network<Hosts>::serve_slowly(std::uint32_t wire, Ps now) {
  Trouble& t = trouble_[wire];
  t.serving = false;
  if (stuck(t)) return;
  const Id id = t.waiting.pop(pool_);
  Packet& p = pool_[id];
  t.bytes -= p.size;
  if (const Ps waited = now - p.time; waited > p.worst_wait) {
    p.worst_wait = static_cast<std::uint32_t>(std::min<Ps>(waited, UINT32_MAX));
    p.worst = wire;
  }
  serve_next(wire, now);
  if (t.full && t.bytes + options_.resume_below <= options_.receiver_bytes) {
    t.full = false;
    if (!t.storm) tell(wire, Kind::kResume, now);
  }
  forward(id, ports_[wire].to, kOpenWay, now);
}

}  // namespace busbar::packet
