#include "busbar/engine/packet/packet_list.h"

#include <fmt/core.h>

#include <bit>

#include "busbar/engine/packet/profile.h"

namespace busbar {
namespace packet {
namespace {

Scale scale_of(const Wiring& wiring, std::span<const std::uint32_t> routes, std::uint64_t full, std::uint64_t header) {
  Scale s;
  std::vector<bool> seen;
  for (const std::uint32_t r : routes) {
    if (r < seen.size() && seen[r]) continue;
    seen.resize(std::max<std::size_t>(seen.size(), r + 1));
    seen[r] = true;
    const Ps rtt = wiring.idle_time(r, full) + wiring.idle_time(r, header);
    const Wire& w = wiring.wires()[wiring.route(r).slowest];
    s.rtt = std::max(s.rtt, rtt);
    s.line_rate = std::max(s.line_rate, static_cast<double>(w.bytes) / static_cast<double>(w.ps_bytes));
    s.bdp = std::max(s.bdp, static_cast<double>(rtt) * static_cast<double>(w.bytes) / static_cast<double>(w.ps_bytes));
  }
  for (const Wire& w : wiring.wires()) s.longest_cable = std::max(s.longest_cable, w.latency);
  return s;
}

/// Buckets that hold a handful of arrivals at full load.
int bucket_bits(const Wiring& wiring) {
  const auto busy = static_cast<std::uint64_t>(wiring.wires().size() / 2 + 1);
  const std::uint64_t ps_per_event = 83'200 / busy + 1;
  return std::clamp(static_cast<int>(std::bit_width(ps_per_event)) + 2, 7, 13);
}

class Run {
 public:
  Run(Wiring& wiring, const FlowList& list, std::vector<std::uint32_t> routes, const HostSettings& hosts,
      const NetworkOptions& network)
      : wiring_(wiring),
        routes_(std::move(routes)),
        events_(bucket_bits(wiring)),
        hosts_(wiring, pool_, events_, hosts, list, routes_, out_),
        network_(wiring, pool_, events_, network, hosts_) {
    hosts_.join(network_);
  }

  Result<PacketResult> run() {
    hosts_.begin();
    const auto wires = static_cast<std::uint32_t>(wiring_.wires().size());
    const std::uint64_t flows = out_.flows.size();
    for (EventQueue::Event e{}; hosts_.finished() < flows && events_.pop(e); ++out_.events) {
      last_ = e.time;
      if (e.source < wires) {
        network_.arrive(e.source, e.time);
      } else if (e.source < 2 * wires) {
        network_.depart(e.source - wires, e.time);
      } else {
        hosts_.take_event(e.source, e.time);
        if (out_.timeouts != seen_timeouts_ && stuck()) return deadlock(e.time);
      }
    }
    if (hosts_.finished() < flows) return deadlock(last_);
    collect();
    return std::move(out_);
  }

 private:
  /// Timeouts, and nothing has arrived since the timeouts before.
  bool stuck() {
    seen_timeouts_ = out_.timeouts;
    if (hosts_.delivered() != seen_delivered_) still_ = 0;
    seen_delivered_ = hosts_.delivered();
    return ++still_ > out_.flows.size() && !network_.deadlock().empty();
  }
  Error deadlock(Ps now) const {
    std::string cycle;
    for (const std::uint32_t w : network_.deadlock())
      cycle += (cycle.empty() ? "" : ", ") + wiring_.topology().name(wiring_.wires()[w].link);
    if (cycle.empty())
      return Error{ErrorCode::kUnsupported, "some flows never ended, though nothing waits in a circle", {}};
    return Error{
        ErrorCode::kDoesNotFit,
        fmt::format("deadlock after {:.3f} us: these links wait for each other: {}; route up and then down only, "
                    "or enlarge buffers",
                    static_cast<double>(now) * 1e-6, cycle),
        {}};
  }

  void collect() {
    out_.hops = network_.hops();
    for (std::uint32_t w = 0; w < wiring_.wires().size(); ++w) add_link(w);
    std::sort(out_.links.begin(), out_.links.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
    for (const PacketOutcome& f : out_.flows) {
      out_.digest = mix64(out_.digest ^ static_cast<std::uint64_t>(f.start.since_start().in_ps()));
      out_.digest = mix64(out_.digest ^ static_cast<std::uint64_t>(f.fct.in_ps()));
    }
  }

  void add_link(std::uint32_t w) {
    const Port& o = network_.ports()[w];
    if (o.sent_bytes == 0 && o.drops == 0) return;
    PacketLink l;
    l.link = wiring_.wires()[w].link;
    l.bytes = o.sent_bytes;
    l.marks = o.marks;
    l.trims = o.trims;
    l.drops = o.drops;
    l.pauses = o.pauses;
    l.paused = Duration::ps(o.paused);
    l.queue_p50 = percentile(network_.histogram(w), 0.5, o.peak);
    l.queue_p99 = percentile(network_.histogram(w), 0.99, o.peak);
    l.queue_max = o.peak;
    out_.links.push_back(l);
    out_.marks += o.marks;
    out_.trims += o.trims;
    out_.drops += o.drops;
    out_.pauses += o.pauses;
  }

  static std::uint64_t percentile(const QueueHistogram& h, double share, std::uint64_t peak) {
    std::uint64_t all = 0, below = 0;
    for (const std::uint32_t n : h.count) all += n;  // the times when it was empty are not in it
    for (std::uint32_t step = 0; step < QueueHistogram::kSteps; ++step) {
      below += h.count[step];
      if (static_cast<double>(below) >= share * static_cast<double>(all))
        return std::min(peak, QueueHistogram::upper(step));
    }
    return peak;
  }

  const Wiring& wiring_;
  std::vector<std::uint32_t> routes_;
  std::uint64_t seen_timeouts_ = 0, seen_delivered_ = 0, still_ = 0;
  Ps last_ = 0;
  PacketResult out_;
  Pool pool_;
  EventQueue events_;
  Hosts hosts_;
  Network<Hosts> network_;
};

}  // namespace

Result<PacketResult> run_adjusted(const Router& router, const FlowList& list, const PacketOptions& options,
                                  const std::function<void(Profile&)>& adjust) {
  constexpr std::uint64_t kMostPackets = 1u << 31;
  const HostSettings shape;
  Wiring wiring(router);
  std::vector<std::uint32_t> routes;
  routes.reserve(list.flows.size());
  for (const ListedFlow& f : list.flows) {
    if (count(f.bytes) / shape.payload >= kMostPackets) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("a flow of {} bytes has more packets than 31 bits count; cut it, or use --engine flow",
                               count(f.bytes)),
                   {}};
    }
    BUSBAR_ASSIGN(const std::uint32_t route, wiring.route(f.from, f.to, f.nic_from, f.nic_to));
    routes.push_back(route);
  }
  wiring.seal();
  Profile profile = make_profile(options, scale_of(wiring, routes, shape.payload + shape.header, shape.header));
  if (adjust) adjust(profile);
  return Run(wiring, list, std::move(routes), profile.hosts, profile.network).run();
}

}  // namespace packet

Result<PacketResult> run_packet_list(const Router& router, const FlowList& list, const PacketOptions& options) {
  return packet::run_adjusted(router, list, options, {});
}

}  // namespace busbar
