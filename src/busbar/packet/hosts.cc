#include "busbar/packet/internal/hosts.h"

namespace busbar::packet {

void Hosts::take_event(std::uint32_t source, Ps now) {
  std::uint32_t n = source - run_.first_source;
  if (n < run_.outlets) return sending_.wake(n, now);
  n -= run_.outlets;
  if (n < run_.outlets) return receiving_.pull(n, now);
  n -= run_.outlets;
  const std::uint32_t slot = run_.traffic.sender_of[n];
  if (slot == kNone32) return run_.traffic.list.flows[n].is_work() ? end_work(n, now) : sending_.start(n, now);
  if (slot != kOver) sending_.timer(slot, now);
}

void Hosts::begin() {
  for (std::uint32_t f = 0; f < run_.traffic.size(); ++f)
    if (starts_here(f)) run_.trigger_start(f);
}

std::uint32_t Hosts::add_block(std::uint32_t flows) {
  const auto block = static_cast<std::uint32_t>(run_.left_in_block.size());
  run_.block_of.resize(run_.traffic.size(), block);
  run_.events.reserve(run_.source_of(run_.traffic.size()));
  std::uint32_t here = 0;
  for (std::uint32_t f = run_.traffic.size() - flows; f < run_.traffic.size(); ++f) {
    here += run_.part.owns(run_.leg(f, false).target) ? 1 : 0;
    if (starts_here(f)) run_.trigger_start(f);
  }
  run_.left_in_block.push_back(here);
  return here;
}

/// The event of the start of work comes at its end.
void Hosts::end_work(std::uint32_t flow, Ps now) {
  PacketOutcome& o = run_.traffic.outcomes[flow];
  o.fct = o.received = o.alone = o.parts.held = run_.traffic.list.flows[flow].overhead;
  o.start = SimTime::at(Duration::ps(now) - o.fct);
  o.done = true;
  run_.traffic.sender_of[flow] = kOver;
  ++run_.finished;
  ++run_.delivered;  // a sign of life, for the search for deadlocks
  run_.out.received = std::max(run_.out.received, SimTime::at(Duration::ps(now)));
  run_.out.end = std::max(run_.out.end, SimTime::at(Duration::ps(now)));
  run_.end_in_block(flow, 0, now);
  for (const program::FlowTrigger what :
       {program::FlowTrigger::kSent, program::FlowTrigger::kReceived, program::FlowTrigger::kAcked})
    run_.trigger(flow, what, now);
}

void Hosts::deliver(Id id, Ps now) {
  switch (run_.pool[id].kind) {
    case Kind::kData:
      return receiving_.take_data(id, now);
    case Kind::kAck:
      return sending_.take_ack(id, now);
    case Kind::kPull:
      return sending_.take_pull(id, now);
    default:
      return sending_.take_nack(id, now);
  }
}

}  // namespace busbar::packet
