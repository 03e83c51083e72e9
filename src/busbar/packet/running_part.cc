#include "busbar/packet/internal/running_part.h"

#include <algorithm>

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

void add_link(const RunningPart& part, std::uint32_t w, PacketResult& out) {
  const Port& o = part.network.ports()[w];
  part.network.add_to_lanes(w, out.lanes);
  if (o.sent_bytes == 0 && o.drops == 0) return;
  PacketLink l;
  l.link = part.wiring.wires()[w].link;
  l.bytes = o.sent_bytes;
  l.marks = o.marks;
  l.trims = o.trims;
  l.drops = o.drops;
  l.pauses = o.pauses;
  l.paused = Duration::ps(o.paused);
  l.queue_p50 = percentile(part.network.histogram(w), 0.5, o.peak);
  l.queue_p99 = percentile(part.network.histogram(w), 0.99, o.peak);
  l.queue_max = o.peak;
  if (!part.wiring.wires()[w].joint) out.links.push_back(l);
}

void add_counts(const RunningPart& part, PacketResult& out) {
  const PacketResult& x = part.out;
  out.end = std::max(out.end, x.end);
  out.received = std::max(out.received, x.received);
  out.events += x.events;
  const PacketCounts c = counts_of(part);
  out.data += c.data;
  out.acks += c.acks;
  out.nacks += c.nacks;
  out.resent += c.resent;
  out.timeouts += c.timeouts;
  out.asks += c.asks;
  out.hops += c.hops;
  out.marks += c.marks;
  out.trims += c.trims;
  out.drops += c.drops;
  out.pauses += c.pauses;
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

PacketResult collect(std::span<RunningPart* const> parts, Traffic& traffic) {
  PacketResult out;
  out.flows = std::move(traffic.outcomes);
  for (const RunningPart* part : parts) add_counts(*part, out);
  const std::span<const Wire> wires = parts.front()->wiring.wires();
  for (std::uint32_t w = 0; w < wires.size(); ++w) {
    for (const RunningPart* part : parts)
      if (part->part.owns(wires[w].from)) add_link(*part, w, out);
  }
  std::sort(out.links.begin(), out.links.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
  for (const PacketOutcome& f : out.flows) {
    out.digest = mix64(out.digest ^ static_cast<std::uint64_t>(f.start.since_start().in_ps()));
    out.digest = mix64(out.digest ^ static_cast<std::uint64_t>(f.fct.in_ps()));
  }
  return out;
}

}  // namespace busbar::packet
