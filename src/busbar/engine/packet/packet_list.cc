#include "busbar/engine/packet/packet_list.h"

#include <fmt/core.h>

#include "busbar/engine/packet/setup.h"

namespace busbar {
namespace packet {
namespace {

/// Refuses what would not fit: results of all flows, state of those under way, wires, packets on wires and in queues.
Status check_memory(const Wiring& wiring, const FlowList& list, double bdp, const PacketOptions& options) {
  constexpr double kPerFlow = sizeof(ListedFlow) + sizeof(PacketOutcome) + 64, kUnderWay = 700;
  constexpr double kPerWire = sizeof(Wire) + sizeof(Port) + sizeof(QueueHistogram) + 64;
  double at_once = 0;  // flows that wait for nothing, and as many again
  for (std::uint32_t f = 0; f < list.flows.size(); ++f) at_once += list.after.row(f).empty() ? 2 : 0;
  at_once = std::min(at_once, static_cast<double>(list.flows.size()));
  const auto wires = static_cast<double>(wiring.wires().size());
  const double packets = std::min(at_once, wires) * (1.5 * bdp / 4160 + 8);
  const double bytes = static_cast<double>(list.flows.size()) * kPerFlow + at_once * kUnderWay + wires * kPerWire +
                       packets * sizeof(Packet);
  if (options.memory_bytes <= 0 || bytes <= options.memory_bytes) return {};
  return Error{
      ErrorCode::kDoesNotFit,
      fmt::format("{} flows on {} wires would need about {:.3g} GB of memory, and there are {:.3g} GB; run fewer "
                  "flows at a time, or use --engine flow",
                  list.flows.size(), wiring.wires().size(), bytes / 1e9, options.memory_bytes / 1e9),
      {}};
}

class Run {
 public:
  Run(Wiring& wiring, const FlowList& list, std::vector<std::uint32_t> routes, const HostSettings& hosts,
      const NetworkOptions& network, const Sampler& sampler, const PacketOptions& options, double hops_expected)
      : wiring_(wiring),
        routes_(std::move(routes)),
        events_(bucket_bits(wiring)),
        hosts_(wiring, pool_, events_, hosts, list, routes_, out_),
        network_(wiring, pool_, events_, network, hosts_),
        sampler_(sampler),
        next_sample_(sampler.every > 0 ? sampler.every : INT64_MAX),
        hops_expected_(hops_expected),
        options_(options) {
    hosts_.join(network_);
    faults_ = !network.faults.empty();
    patience_ = kStillTimeouts * hosts.timeout;
  }

  Result<PacketResult> run() {
    hosts_.begin();
    const auto wires = static_cast<std::uint32_t>(wiring_.wires().size());
    const std::uint64_t flows = out_.flows.size();
    network_.begin_faults();
    for (EventQueue::Event e{}; hosts_.finished() < flows && events_.pop(e); ++out_.events) {
      if (e.time > next_sample_) sample(e.time);
      last_ = e.time;
      network_.foresee();
      if ((out_.events & 4095) == 0 && stopped()) break;
      if ((out_.events & kProgressMask) == kProgressMask && options_.progress) [[unlikely]]
        options_.progress(
            {SimTime::at(Duration::ps(e.time)), hosts_.finished(), flows, network_.hops(), hops_expected_});
      if (e.source < wires) {
        network_.arrive(e.source, e.time);
      } else if (e.source < 2 * wires) {
        network_.depart(e.source - wires, e.time);
      } else if (e.source < hosts_.first_source()) {
        if (network_.take_fault(e.source, e.time)) wiring_.route_around([&](auto w) { return network_.down(w); });
      } else {
        hosts_.take_event(e.source, e.time);
        if (out_.timeouts != seen_timeouts_ && stuck()) {
          if (!faults_) return deadlock(e.time);
          out_.stuck = why_stuck(e.time);
          break;
        }
      }
    }
    if (hosts_.finished() < flows && !stopped() && out_.stuck.empty()) return deadlock(last_);
    out_.done = hosts_.finished();
    collect();
    return std::move(out_);
  }

 private:
  bool stopped() const { return options_.stop != nullptr && *options_.stop != 0; }
  void sample(Ps now) {
    samples_.clear();
    hosts_.each_active([&](std::uint32_t flow, std::uint32_t packets) { samples_.push_back({flow, packets}); });
    for (; next_sample_ < now; next_sample_ += sampler_.every) sampler_.look(next_sample_, samples_, network_.ports());
  }
  /// Every flow could have timed out, and nothing has arrived meanwhile: a circle of waiting ports, or, after many
  /// rounds, whatever else it may be.
  bool stuck() {
    seen_timeouts_ = out_.timeouts;
    if (hosts_.delivered() != seen_delivered_) {
      still_ = rounds_ = 0;
      last_delivery_ = last_;
    }
    seen_delivered_ = hosts_.delivered();
    if (faults_) return !network_.changes_to_come() && last_ - last_delivery_ > patience_;
    if (++still_ <= out_.flows.size()) return false;
    still_ = 0;
    return ++rounds_ > kMostRounds || !network_.deadlock().empty();
  }
  std::string cycle_of_waits() const {
    std::string cycle;
    for (const std::uint32_t w : network_.deadlock())
      cycle += (cycle.empty() ? "" : ", ") + wiring_.topology().name(wiring_.wires()[w].link);
    return cycle;
  }
  /// The wire of a flow that has not ended, at which its packets wait or get lost.
  std::string why_stuck(Ps now) const {
    const std::string cycle = cycle_of_waits();
    const std::string why = cycle.empty() ? "what the faults block" : "a circle of waiting links: " + cycle;
    return fmt::format(
        "after {:.3f} us nothing has arrived for {:.3f} us, and nothing will change any more: {} of {} "
        "flows wait for {}",
        static_cast<double>(now) * 1e-6, static_cast<double>(now - last_delivery_) * 1e-6,
        out_.flows.size() - hosts_.finished(), out_.flows.size(), why);
  }
  Error deadlock(Ps now) const {
    const std::string cycle = cycle_of_waits();
    if (cycle.empty())
      return Error{
          ErrorCode::kUnsupported,
          "nothing has arrived any more for many timeouts, though no ports wait in a circle; use --engine flow",
          {}};
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

  Wiring& wiring_;
  std::vector<std::uint32_t> routes_;
  static constexpr Ps kStillTimeouts = 20;  ///< of silence until a run with faults is given up
  bool faults_ = false;
  Ps patience_ = 0, last_delivery_ = 0;
  static constexpr std::uint64_t kMostRounds = 100;
  std::uint64_t seen_timeouts_ = 0, seen_delivered_ = 0, still_ = 0, rounds_ = 0;
  Ps last_ = 0;
  PacketResult out_;
  Pool pool_;
  EventQueue events_;
  Hosts hosts_;
  Network<Hosts> network_;
  const Sampler& sampler_;
  std::vector<FlowSample> samples_;
  Ps next_sample_;
  static constexpr std::uint64_t kProgressMask = (1u << 20) - 1;
  double hops_expected_;
  const PacketOptions& options_;
};

}  // namespace

Result<PacketResult> run_adjusted(const Router& router, const FlowList& list, const PacketOptions& options,
                                  const std::function<void(Profile&)>& adjust) {
  if (options.background) {
    FlowList all = list;
    BUSBAR_RETURN_IF_ERROR(add_background(*options.background, router, all));
    PacketOptions rest = options;
    rest.background.reset();
    Result<PacketResult> result = run_adjusted(router, all, rest, adjust);
    if (result.ok()) result->background = all.flows.size() - list.flows.size();
    return result;
  }
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
  if (!options.faults.empty()) wiring.add_all_cables();
  wiring.seal();
  if (options.cut_through) wiring.cut_through(shape.header);
  const double hops = expected_hops(wiring, list, routes, shape.payload);
  BUSBAR_RETURN_IF_ERROR(check_patience(hops, options.patience_s));
  const Scale scale = scale_of(wiring, routes, shape.payload + shape.header, shape.header);
  BUSBAR_RETURN_IF_ERROR(check_memory(wiring, list, scale.bdp, options));
  BUSBAR_ASSIGN(Profile profile, profile_for(wiring, options, scale));
  if (adjust) adjust(profile);
  return Run(wiring, list, std::move(routes), profile.hosts, profile.network, profile.sampler, options, hops).run();
}

}  // namespace packet

Result<PacketResult> run_packet_list(const Router& router, const FlowList& list, const PacketOptions& options) {
  return packet::run_adjusted(router, list, options, {});
}

}  // namespace busbar
