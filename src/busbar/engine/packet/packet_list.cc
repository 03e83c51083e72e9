#include "busbar/engine/packet/packet_list.h"

#include <bit>

#include "busbar/engine/packet/hosts.h"

namespace busbar {
namespace packet {
namespace {

/// The longest route when idle decides windows and queues.
struct Scale {
  Ps rtt = 0;
  double bdp = 0;
};

Scale scale_of(const Wiring& wiring, std::span<const std::uint32_t> routes, const HostSettings& h) {
  Scale s;
  std::vector<bool> seen;
  for (const std::uint32_t r : routes) {
    if (r < seen.size() && seen[r]) continue;
    seen.resize(std::max<std::size_t>(seen.size(), r + 1));
    seen[r] = true;
    const Ps rtt = wiring.idle_time(r, h.payload + h.header) + wiring.idle_time(r, h.header);
    const Wire& w = wiring.wires()[wiring.route(r).slowest];
    s.rtt = std::max(s.rtt, rtt);
    s.bdp = std::max(s.bdp, static_cast<double>(rtt) * static_cast<double>(w.bytes) / static_cast<double>(w.ps_bytes));
  }
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

  PacketResult run() {
    hosts_.begin();
    const auto wires = static_cast<std::uint32_t>(wiring_.wires().size());
    const std::uint64_t flows = out_.flows.size();
    for (EventQueue::Event e{}; hosts_.finished() < flows && events_.pop(e); ++out_.events) {
      if (e.source < wires) {
        network_.arrive(e.source, e.time);
      } else if (e.source < 2 * wires) {
        network_.depart(e.source - wires, e.time);
      } else {
        hosts_.take_event(e.source, e.time);
      }
    }
    collect();
    return std::move(out_);
  }

 private:
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
  PacketResult out_;
  Pool pool_;
  EventQueue events_;
  Hosts hosts_;
  Network<Hosts> network_;
};

}  // namespace
}  // namespace packet

Result<PacketResult> run_packet_list(const Router& router, const FlowList& list, const PacketOptions& options) {
  packet::Wiring wiring(router);
  std::vector<std::uint32_t> routes;
  routes.reserve(list.flows.size());
  for (const ListedFlow& f : list.flows) {
    BUSBAR_ASSIGN(const std::uint32_t route, wiring.route(f.from, f.to, f.nic_from, f.nic_to));
    routes.push_back(route);
  }
  wiring.seal();
  packet::HostSettings hosts;
  const packet::Scale scale = packet::scale_of(wiring, routes, hosts);
  hosts.spray = options.balance != PacketBalance::kEcmp;
  hosts.seed = options.seed;
  hosts.timeout = 100'000'000;
  hosts.control.network_bdp = scale.bdp;
  hosts.control.network_rtt = scale.rtt;
  hosts.control.max_window = 1.5 * scale.bdp;
  hosts.control.target_delay = scale.rtt * 3 / 4;
  packet::NetworkOptions network;
  network.seed = options.seed;
  network.trim = true;
  network.adaptive = options.balance == PacketBalance::kAdaptive;
  const auto bdp_packets = static_cast<std::uint32_t>(scale.bdp / 4160 + 0.9999);
  network.queue_bytes = bdp_packets * 4160;
  network.mark_low = static_cast<std::uint32_t>(0.2 * network.queue_bytes);
  network.mark_high = static_cast<std::uint32_t>(0.8 * network.queue_bytes);
  return packet::Run(wiring, list, std::move(routes), hosts, network).run();
}

}  // namespace busbar
