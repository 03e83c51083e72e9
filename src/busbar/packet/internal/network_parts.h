// Cables whose ends belong to different parts of a run, each with a thread of its own.
//
// Nothing that leaves by such a cable arrives sooner than its latency from now: that is how far parts may run ahead of
// each other. Service stays lazy: at the end of a window of time the ports at which something waits send what had its
// turn within, before the other parts come to the time when it arrives. The far part has a port of its own for the
// wire, of which only `flying` is used.
#pragma once

#include "busbar/packet/internal/network.h"

namespace busbar::packet {

template <class Hosts>
void Network<Hosts>::join(const NetworkPart& part, Mail& mail) {
  part_ = &part;
  mail_ = &mail;
  for (std::uint32_t w = 0; w < ports_.size(); ++w) {
    const Wire& x = wiring_.wires()[w];
    ports_[w].remote = part.owns(x.from) && !part.owns(x.to);
  }
}

template <class Hosts>
void Network<Hosts>::hand_over(Port& o, Id id) {
  mail_->put(part_->split->of(o.to), pool_[id]);
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
