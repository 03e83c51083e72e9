#include "busbar/packet/internal/running_part.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/text.h"

namespace busbar::packet {
namespace {

std::uint64_t percentile(const QueueHistogram& h, double share, std::uint64_t peak) {
  std::uint64_t all = 0, below = 0;
  for (const std::uint32_t n : h.count) all += n;  // samples of an empty queue are not in it
  for (std::uint32_t step = 0; step < QueueHistogram::kSteps; ++step) {
    below += h.count[step];
    if (static_cast<double>(below) >= share * static_cast<double>(all))
      return std::min(peak, QueueHistogram::upper(step));
  }
  return peak;
}

/// `owner`: the part that sends on the wire. A part counts the packets that a fault destroys where they would arrive.
void add_link(std::span<RunningPart* const> parts, const RunningPart& owner, std::uint32_t w, PacketResult& out) {
  const Port& o = owner.network.ports()[w];
  PacketLink l;
  for (const RunningPart* part : parts) {
    part->network.add_to_lanes(w, out.lanes);
    l.drops += part->network.ports()[w].drops;
  }
  if ((o.sent_bytes == 0 && l.drops == 0) || owner.wiring.wires()[w].joint) return;
  l.link = owner.wiring.wires()[w].link;
  l.bytes = o.sent_bytes;
  l.marks = o.marks;
  l.trims = o.trims;
  l.pauses = o.pauses;
  l.paused = Duration::ps(o.paused);
  l.queue_p50 = percentile(owner.network.histogram(w), 0.5, o.peak);
  l.queue_p99 = percentile(owner.network.histogram(w), 0.99, o.peak);
  l.queue_max = o.peak;
  out.links.push_back(l);
}

void add_counts(const RunningPart& part, PacketResult& out) {
  const PacketResult& x = part.out;
  out.end = std::max(out.end, x.end);
  out.received = std::max(out.received, x.received);
  out.events += x.events;
  out += counts_of(part);
  out.done += part.hosts.finished();
  out.lanes.resize(std::max(out.lanes.size(), x.lanes.size()));
  for (std::size_t l = 0; l < x.lanes.size(); ++l) {
    out.lanes[l].data += x.lanes[l].data;
    out.lanes[l].resent += x.lanes[l].resent;
  }
}

}  // namespace

PacketCounts counts_of(const RunningPart& part) {
  PacketCounts c = part.out;
  c.hops = part.network.hops();
  for (const Port& o : part.network.ports()) {
    c.marks += o.marks;
    c.trims += o.trims;
    c.drops += o.drops;
    c.pauses += o.pauses;
  }
  return c;
}

Ps ends_after(const Wiring& wiring) {
  Ps longest = 0;
  for (const Wire& w : wiring.wires()) longest = std::max(longest, w.latency);
  return longest;
}

std::string cycle_of_waits(const RunningPart& part) {
  std::string cycle;
  for (const std::uint32_t w : part.network.deadlock())
    append_word(cycle, part.wiring.topology().name(part.wiring.wires()[w].link));
  return cycle;
}

Error standstill(const RunningPart& part, Ps now) {
  const std::vector<std::uint32_t> cycle = part.network.deadlock();
  const double now_us = static_cast<double>(now) * 1e-6;
  if (cycle.empty())
    return Error{ErrorCode::kUnsupported,
                 fmt::format("after {:.3f} us no packet has arrived for many timeouts, though no ports wait for each "
                             "other; use --engine flow",
                             now_us),
                 {}};
  const bool relays = std::any_of(cycle.begin(), cycle.end(), [&](std::uint32_t w) {
    return part.wiring.wires()[w].from >= part.wiring.switches();
  });
  return Error{ErrorCode::kDoesNotFit,
               fmt::format("deadlock after {:.3f} us: each of these links waits for room behind the next, around a "
                           "circle: {}; {}use --transport nscc, which drops packets instead of waiting, or {}",
                           now_us, cycle_of_waits(part),
                           relays ? "devices that forward for others have one buffer per link here, where real tori "
                                    "have two virtual channels; "
                                  : "",
                           relays ? "--engine flow"
                                  : "routes that never go up again after they went down, or larger buffers "
                                    "(--set packet.buffer, with InfiniBand packet.credit_buffer)"),
               {}};
}

PacketResult collect(std::span<RunningPart* const> parts, Traffic& traffic) {
  PacketResult out;
  out.flows = std::move(traffic.outcomes);
  for (const RunningPart* part : parts) add_counts(*part, out);
  const std::span<const Wire> wires = parts.front()->wiring.wires();
  for (std::uint32_t w = 0; w < wires.size(); ++w) {
    for (const RunningPart* part : parts)
      if (part->part.owns(wires[w].from)) add_link(parts, *part, w, out);
  }
  std::sort(out.links.begin(), out.links.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
  for (const PacketOutcome& f : out.flows) {
    out.digest = mix64(out.digest ^ static_cast<std::uint64_t>(f.start.since_start().in_ps()));
    out.digest = mix64(out.digest ^ static_cast<std::uint64_t>(f.fct.in_ps()));
  }
  return out;
}

}  // namespace busbar::packet
