// Cables between parts of a run, each part on a thread of its own.
//
// A packet on such a cable arrives no sooner than the cable's latency from now, so parts may run that far ahead of each
// other. Service stays lazy: at the end of a window of time, ports with waiting packets send those whose turn came
// within it. The other parts have not yet reached the time of their arrival. The far part has its own port for the
// wire, of which it uses only `flying`.
#pragma once

#include "busbar/packet/internal/network.h"

namespace busbar::packet {

template <class Hosts>
void Network<Hosts>::join(const NetworkPart& part, Outbox& outbox) {
  part_ = &part;
  outbox_ = &outbox;
  for (std::uint32_t w = 0; w < ports_.size(); ++w) {
    const Wire& x = wiring_.wires()[w];
    ports_[w].remote = part.owns(x.from) && !part.owns(x.to);
  }
}

template <class Hosts>
void Network<Hosts>::hand_over(Port& o, Id id) {
  outbox_->put(part_->split->of(o.to), pool_[id]);
  pool_.give(id);
}

template <class Hosts>
Ps Network<Hosts>::hand_over_until(Ps end) {
  Ps next = INT64_MAX;
  std::size_t left = 0;
  for (const std::uint32_t w : waiting_) {
    Port& o = ports_[w];
    settle(w, o, end);
    o.armed = !o.control.empty() || o.queued > 0;
    if (!o.armed) continue;
    next = std::min(next, o.busy);
    waiting_[left++] = w;
  }
  waiting_.resize(left);
  return next;
}

template <class Hosts>
void Network<Hosts>::close(Ps end) {
  for (std::uint32_t w = 0; w < ports_.size() && !eager_; ++w)
    if (!ports_[w].host) settle(w, ports_[w], end);
}

template <class Hosts>
void Network<Hosts>::receive(const Packet& p) {
  const Id id = pool_.take();
  pool_[id] = p;
  fly(p.wire, ports_[p.wire], id);
}

}  // namespace busbar::packet
