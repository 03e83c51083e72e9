#include "busbar/packet/packet_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/packet/internal/knobs.h"
#include "busbar/packet/internal/queue_pairs.h"
#include "busbar/packet/internal/running_part.h"
#include "busbar/packet/internal/setup.h"
#include "busbar/packet/internal/threads.h"

namespace busbar::packet {
namespace {

/// Refuses what would not fit: results of all flows, state of flows in progress, wires, packets on wires and queues.
Status check_memory(const Wiring& wiring, const program::FlowList& list, double bdp, const PacketOptions& options) {
  constexpr double kPerFlow = sizeof(program::ListedFlow) + sizeof(PacketOutcome) + 64, kUnderWay = 700;
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
  Run(Wiring& wiring, Traffic& traffic, const Profile& profile, const PacketOptions& options, double hops_expected)
      : options_(options),
        hops_expected_(hops_expected),
        traffic_(traffic),
        part_(wiring, traffic, profile, bucket_bits(wiring)),
        after_(ends_after(wiring)),
        next_sample_(options.series.every > Duration() ? options.series.every.in_ps() : INT64_MAX),
        faults_(!profile.network.faults.empty()),
        patience_(kStillTimeouts * profile.hosts.timeout) {}

  Result<PacketResult> run() {
    const std::uint64_t flows = traffic_.size();
    PacketResult& out = part_.out;
    part_.hosts.begin();
    part_.network.begin_faults();
    for (EventQueue::Event e{}; part_.hosts.finished() < flows && part_.events.pop(e); ++out.events) {
      if (e.time > next_sample_) sample(e.time);
      last_ = e.time;
      if ((out.events & 4095) == 0 && stopped()) break;
      if ((out.events & kProgressMask) == kProgressMask && options_.progress) [[unlikely]]
        options_.progress(
            {SimTime::at(Duration::ps(e.time)), part_.hosts.finished(), flows, part_.network.hops(), hops_expected_});
      part_.take(e);
      if (part_.hosts.silences() != seen_silences_ && stuck()) {
        if (!faults_) return standstill(part_, e.time);
        why_ = why_stuck(e.time);
        break;
      }
    }
    if (part_.hosts.finished() < flows && !stopped() && why_.empty()) return standstill(part_, last_);
    if (part_.hosts.finished() == flows) finish();
    RunningPart* const all[] = {&part_};
    PacketResult result = collect(all, traffic_);
    result.stuck = why_;
    return result;
  }

 private:
  void finish() {
    for (EventQueue::Event e{}; part_.events.pop_until(last_ + after_, e); ++part_.out.events) part_.take(e);
    part_.network.close(last_ + after_ + 1);
  }
  bool stopped() const { return options_.stop != nullptr && *options_.stop != 0; }
  void sample(Ps now) {
    for (; next_sample_ < now; next_sample_ += options_.series.every.in_ps()) {
      part_.hosts.settle_all(next_sample_);
      part_.network.close(next_sample_);
      flows_.clear();
      links_.clear();
      part_.hosts.sample(flows_);
      part_.network.sample(next_sample_, links_);
      options_.series.look(SimTime::at(Duration::ps(next_sample_)), links_, flows_);
    }
  }
  /// Every flow could have timed out, and nothing has arrived in that time. The cause is a cycle of waiting ports or,
  /// after many rounds, anything else.
  bool stuck() {
    seen_silences_ = part_.hosts.silences();
    if (part_.hosts.delivered() != seen_delivered_) {
      still_ = rounds_ = 0;
      last_delivery_ = last_;
    }
    seen_delivered_ = part_.hosts.delivered();
    if (faults_) return !part_.network.changes_to_come() && last_ - last_delivery_ > patience_;
    if (++still_ <= traffic_.size()) return false;
    still_ = 0;
    return ++rounds_ > kMostRounds || !part_.network.deadlock().empty();
  }
  /// Why the remaining flows of a run with faults cannot end.
  std::string why_stuck(Ps now) const {
    const std::string cycle = cycle_of_waits(part_);
    const std::string why =
        cycle.empty() ? "what the faults block" : "a cycle of links that wait for each other: " + cycle;
    return fmt::format(
        "after {:.3f} us nothing has arrived for {:.3f} us, and no fault will begin or end any more: {} of {} "
        "flows wait for {}",
        static_cast<double>(now) * 1e-6, static_cast<double>(now - last_delivery_) * 1e-6,
        traffic_.size() - part_.hosts.finished(), traffic_.size(), why);
  }
  static constexpr std::uint64_t kMostRounds = 100;
  static constexpr std::uint64_t kProgressMask = (1u << 20) - 1;
  const PacketOptions& options_;
  const double hops_expected_;
  Traffic& traffic_;
  RunningPart part_;
  const Ps after_;
  Ps next_sample_;
  const bool faults_;
  const Ps patience_;
  Ps last_delivery_ = 0, last_ = 0;
  std::uint64_t seen_silences_ = 0, seen_delivered_ = 0, still_ = 0, rounds_ = 0;
  std::vector<PacketFlowSample> flows_;
  std::vector<PacketLinkSample> links_;
  std::string why_;
};

/// Why a run cannot use several threads; empty if it can.
std::string why_one_thread(const Profile& profile, const PacketOptions& options, const program::FlowList& list) {
  const auto is_work = [](const program::ListedFlow& f) { return f.is_work(); };
  if (std::any_of(list.flows.begin(), list.flows.end(), is_work)) return "work between flows belongs to no part";
  if (options.series.every > Duration()) return "samples are of all parts at once";
  if (profile.network.log != nullptr) return "the log is of all parts at once";
  return "";
}

/// Every flow takes one path, or sprays.
Result<PacketResult> run_whole(const routing::Router& router, const program::FlowList& list,
                               const PacketOptions& options, const std::function<void(Profile&)>& adjust) {
  BUSBAR_RETURN_IF_ERROR(check_copies(router, list));
  constexpr std::uint64_t kMostPackets = 1u << 31;
  const HostSettings shape = shape_of(options);
  Wiring wiring(router, list.shares);
  std::vector<std::uint32_t> routes;
  routes.reserve(list.flows.size());
  for (const program::ListedFlow& f : list.flows) {
    if (count(f.bytes) / shape.payload >= kMostPackets) {
      return Error{
          ErrorCode::kUnsupported,
          fmt::format("a flow of {} bytes has more packets than 31 bits can number; split it, or use --engine flow",
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
  const FlowLog log(options.log, static_cast<std::uint32_t>(list.flows.size()));
  if (!options.log.flows.empty()) profile.hosts.log = profile.network.log = &log;
  const bool open = options.threads == 0;
  std::string why = options.threads != 1 ? why_one_thread(profile, options, list) : "";
  const std::uint32_t wanted = why.empty() ? options.threads : 1;
  const NetworkSplit split = open && why.empty() ? split_where_it_pays(wiring, list, routes, hops)
                                                 : split_network(wiring, list, routes, wanted);
  if (why.empty() && split.parts < wanted)
    why =
        "the network has no more separate groups of hosts; cables between groups need a latency, and a flow that "
        "starts when another ends must start where that one ends";
  if (!why.empty() && !open && options.notice)
    options.notice(fmt::format("{} of {} threads run: {}", split.parts, options.threads, why));
  if (split.parts > 1) {
    Traffic traffic(wiring, list, routes);
    std::optional<PacketResult> r = run_on_threads(wiring, traffic, profile, split, bucket_bits(wiring), options, hops);
    if (r) {
      r->settings = settings_of(profile);
      r->threads = split.parts;
      return std::move(*r);
    }
  }
  Traffic traffic(wiring, list, routes);
  Result<PacketResult> r = Run(wiring, traffic, profile, options, hops).run();
  if (r.ok()) r->settings = settings_of(profile);
  return r;
}

/// Per flow, its time on an idle network.
Result<std::vector<Duration>> times_alone(const routing::Router& router, const program::FlowList& list,
                                          const PacketOptions& options) {
  const HostSettings shape = shape_of(options);
  Wiring wiring(router, list.shares);
  std::vector<std::uint32_t> routes;
  for (const program::ListedFlow& f : list.flows) {
    BUSBAR_ASSIGN(const std::uint32_t route, wiring.route(f.from, f.to, f.nic_from, f.nic_to));
    routes.push_back(route);
  }
  wiring.seal();
  if (options.cut_through) wiring.cut_through(shape.header);
  std::vector<Duration> out;
  for (std::size_t f = 0; f < routes.size(); ++f)
    out.push_back(Duration::ps(list.flows[f].is_work() ? 0
                                                       : wiring.time_alone(routes[f], count(list.flows[f].bytes),
                                                                           shape.payload, shape.header)));
  return out;
}

}  // namespace

Result<PacketResult> run_adjusted(const routing::Router& router, const program::FlowList& list,
                                  const PacketOptions& options, const std::function<void(Profile&)>& adjust) {
  if (options.background) {
    program::FlowList all = list;
    BUSBAR_RETURN_IF_ERROR(add_background(*options.background, router, all));
    PacketOptions rest = options;
    rest.background.reset();
    Result<PacketResult> result = run_adjusted(router, all, rest, adjust);
    if (result.ok()) result->background = all.flows.size() - list.flows.size();
    return result;
  }
  const std::uint32_t queue_pairs = queue_pairs_of(options);
  if (queue_pairs == 1) return run_whole(router, list, options, adjust);
  const CutList cut = cut_for_queue_pairs(list, router.topology(), queue_pairs);
  BUSBAR_ASSIGN(PacketResult result, run_whole(router, cut.list, watch_parts(cut, options), adjust));
  BUSBAR_ASSIGN(const std::vector<Duration> alone, times_alone(router, list, options));
  join_parts(cut, alone, result);
  return result;
}

Result<PacketResult> run_packet_list(const routing::Router& router, const program::FlowList& list,
                                     const PacketOptions& options) {
  return packet::run_adjusted(router, list, options, {});
}

}  // namespace busbar::packet
