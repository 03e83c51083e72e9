// Lossless networks: a port that may not send waits.
//
// Pause: a port that fills more than its share of a buffer is told to stop, and later to go on. Sources: IEEE 802.1Qbb;
// Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Trans. Networking
// 1998 (threshold = factor x free buffer). Pauses last until resumed; real wires refresh pause timers in time, so
// timers are left out. Credits: a port knows how much room is left at the far end of its wire; InfiniBand Architecture
// Specification 1.6, vol. 1, section 7.9. Returned credits travel as packets of eight bytes.
#pragma once

#include "busbar/packet/internal/network.h"

namespace busbar::packet {

template <class Hosts>
std::int64_t Network<Hosts>::pause_threshold(std::uint32_t node) const {
  const std::int64_t free = std::max<std::int64_t>(0, shared_[node] - held_[node]);
  return options_.pause_fixed > 0 ? options_.pause_fixed : free * options_.pause_eighths / 8;
}

template <class Hosts>
bool Network<Hosts>::fits_headroom(std::uint32_t from, std::uint32_t lane, std::uint32_t size) const {
  const std::uint32_t node = ports_[from].to;
  const Ingress& in = ingress_[std::size_t{from} * lane_count_ + lane];
  return in.bytes + size <= pause_threshold(node) || in.headroom + size <= headroom_[node];
}

/// A packet that came by wire `from` now occupies buffer at `node`.
template <class Hosts>
void Network<Hosts>::hold(std::uint32_t from, std::uint32_t lane, std::uint32_t node, std::uint32_t size, Ps now) {
  Ingress& in = ingress_[std::size_t{from} * lane_count_ + lane];
  const bool above = in.bytes + size > pause_threshold(node);
  in.bytes += size;
  if (above) {
    in.headroom += size;
  } else {
    held_[node] += size;
  }
  if (above && !in.pausing) {
    in.pausing = true;
    send_pause(from, Kind::kPause, lane, now);
  }
}

/// The packet that was being sent has left the buffer.
template <class Hosts>
void Network<Hosts>::release(std::uint32_t wire, Port& o, Ps now) {
  if (o.serving == 0) return;
  const std::uint32_t size = o.serving, from = o.serving_from, lane = o.serving_lane;
  o.serving = 0;
  if (credits()) return give_back(from, lane, size, now);
  Ingress& in = ingress_[std::size_t{from} * lane_count_ + lane];
  const std::uint32_t node = wiring_.wires()[wire].from;
  const std::uint32_t spare = std::min(in.headroom, size);
  in.headroom -= spare;
  held_[node] -= size - spare;
  in.bytes -= size;
  const std::int64_t resume = std::max<std::int64_t>(0, pause_threshold(node) - options_.resume_below);
  if (in.pausing && in.headroom == 0 && in.bytes <= resume) {
    in.pausing = false;
    send_pause(from, Kind::kResume, lane, now);
  }
}

/// Sends a frame to the port that sends on wire `from`.
template <class Hosts>
void Network<Hosts>::send_pause(std::uint32_t from, Kind kind, std::uint32_t lane, Ps now) {
  const Id id = pool_.take();
  Packet& p = pool_[id];
  p = Packet{};
  p.kind = kind;
  p.flow = lane;
  p.size = static_cast<std::uint16_t>(options_.header_bytes);
  send_control(from ^ 1, id, now);
}

/// Queues a frame before all other packets, after the packet on the wire.
template <class Hosts>
void Network<Hosts>::send_control(std::uint32_t wire, Id id, Ps now) {
  Port& o = ports_[wire];
  pool_[id].time = now;
  if (o.host) return hosts_.send_first(wire, id, now);
  if (!o.armed) return transmit(wire, id, now);
  const auto is_pause = [&](Id x) { return pool_[x].kind == Kind::kPause || pool_[x].kind == Kind::kResume; };
  for (Id x = o.control.head; is_pause(id) && x != kNone32 && is_pause(x); x = pool_[x].next) {
    if (pool_[x].flow != pool_[id].flow) continue;
    pool_[x].kind = pool_[id].kind;  // only the last frame for a lane counts
    return pool_.give(id);
  }
  o.control.push_front(pool_, id);
  o.queued_control += pool_[id].size;
}

template <class Hosts>
void Network<Hosts>::spend(std::uint32_t wire, Port& o, std::uint32_t lane_number, std::uint32_t size, Ps now) {
  std::int32_t& left = many_ ? lane(wire, lane_number).credits : o.credits;
  left -= static_cast<std::int32_t>(size);
  if (left < options_.packet_bytes) stop(wire, o, lane_number, now);
}

/// Tells the port that sends on wire `from` that `size` bytes of the buffer are free again.
template <class Hosts>
void Network<Hosts>::give_back(std::uint32_t from, std::uint32_t lane, std::uint32_t size, Ps now) {
  constexpr std::uint16_t kUpdateBytes = 8;
  const Port& o = ports_[from ^ 1];
  for (Id x = o.host ? kNone32 : o.control.head; x != kNone32 && pool_[x].kind == Kind::kCredit; x = pool_[x].next) {
    if (pool_[x].flow != lane) continue;
    pool_[x].seq += size;  // the previous credit packet has not left yet
    return;
  }
  const Id id = pool_.take();
  Packet& p = pool_[id];
  p = Packet{};
  p.kind = Kind::kCredit;
  p.flow = lane;
  p.size = kUpdateBytes;
  p.seq = size;
  send_control(from ^ 1, id, now);
}

template <class Hosts>
void Network<Hosts>::stop(std::uint32_t wire, Port& o, std::uint32_t lane, Ps now) {
  if (many_) return stop_lane(wire, o, lane, now);
  if (o.stopped) return;
  o.stopped = 1;
  o.paused_since = now;
  ++o.pauses;
}

template <class Hosts>
void Network<Hosts>::go_on(std::uint32_t wire, Port& o, std::uint32_t lane, Ps now) {
  if (many_) return free_lane(wire, o, lane, now);
  if (!o.stopped) return;
  o.stopped = 0;
  o.paused_until = now;
  o.paused += now - o.paused_since;
}

/// The port that sends on `wire` must stop sending data, or may start again.
template <class Hosts>
void Network<Hosts>::take_permit(std::uint32_t wire, const Packet& p, Ps now) {
  Port& o = ports_[wire];
  if (o.host) hosts_.before_pause(wire, now);
  if (p.kind == Kind::kCredit) {
    std::int32_t& left = many_ ? lane(wire, p.flow).credits : o.credits;
    left += static_cast<std::int32_t>(p.seq);
    if (left >= options_.packet_bytes) go_on(wire, o, p.flow, now);
  } else if (p.kind == Kind::kPause) {
    stop(wire, o, p.flow, now);
  } else {
    go_on(wire, o, p.flow, now);
  }
  if (o.host) return hosts_.after_pause(wire, now);
  if (!o.stopped && !o.armed) serve(wire, o, now);
}

/// The time that the packet spent in this queue during the last pause.
template <class Hosts>
void Network<Hosts>::note_pause(Ps since, Ps until, Packet& p) {
  if (options_.load_over > 0) return;  // the field is in use
  const Ps part = until - std::max(since, p.time);
  p.paused = static_cast<std::uint32_t>(std::min<Ps>(UINT32_MAX, p.paused + std::max<Ps>(0, part)));
}

/// Source: Ben Basat et al., "PINT", SIGCOMM 2020, section 3.3: load <- (T - t)/T load + queue t / (B T^2) + bytes / (B
/// T).
template <class Hosts>
void Network<Hosts>::note_load(Port& o, Packet& p, Ps end) {
  constexpr double kOne = 1 << 20;
  const auto over = static_cast<double>(options_.load_over);
  const double since = std::min(over, static_cast<double>(end - o.busy));
  const auto took = static_cast<double>(speed(o).transfer(p.size)),
             queue = static_cast<double>(speed(o).transfer(o.queued));
  const double load = (over - since) / over * o.load / kOne + queue * since / (over * over) + took / over;
  o.load = static_cast<std::uint32_t>(std::min(64.0, load) * kOne);
  if (p.kind == Kind::kData) p.paused = std::max(p.paused, o.load);
}

/// A stopped port waits for the far node to forward packets that came by its wire. These wait in ports of that node.
template <class Hosts>
std::vector<std::uint32_t> Network<Hosts>::deadlock() const {
  const auto n = static_cast<std::uint32_t>(ports_.size() * lane_count_);  // one per wire and lane
  const auto stopped = [&](std::uint32_t w, std::uint32_t l) { return !ports_[w].host && lane_stopped(w, l); };
  std::vector<std::vector<std::uint32_t>> waits(n);
  for (std::uint32_t at = 0; at < n; ++at) {
    const std::uint32_t w = at / lane_count_, l = at % lane_count_;
    if (!stopped(w, l)) continue;
    for (Id id = data_of(w, l).head; id != kNone32; id = pool_[id].next)
      if (stopped(pool_[id].wire, l)) waits[pool_[id].wire * lane_count_ + l].push_back(at);
  }
  enum : std::uint8_t { kNew, kBehind, kDone };
  std::vector<std::uint8_t> mark(n, kNew);
  std::vector<std::size_t> cursor(n, 0);
  std::vector<std::uint32_t> walk;
  for (std::uint32_t first = 0; first < n; ++first) {
    if (mark[first] != kNew) continue;
    walk.assign(1, first);
    mark[first] = kBehind;
    while (!walk.empty()) {
      const std::uint32_t at = walk.back();
      if (cursor[at] == waits[at].size()) {
        mark[at] = kDone;
        walk.pop_back();
        continue;
      }
      const std::uint32_t next = waits[at][cursor[at]++];
      if (mark[next] == kBehind) {
        std::vector<std::uint32_t> circle(std::find(walk.begin(), walk.end(), next), walk.end());
        for (std::uint32_t& x : circle) x /= lane_count_;
        return circle;
      }
      if (mark[next] == kDone) continue;
      mark[next] = kBehind;
      walk.push_back(next);
    }
  }
  return {};
}

}  // namespace busbar::packet
