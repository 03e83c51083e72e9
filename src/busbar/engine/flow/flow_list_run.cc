#include "busbar/engine/flow/flow_list_run.h"

#include <algorithm>
#include <cmath>

#include "busbar/base/check.h"
#include "busbar/engine/flow/internal/adaptive_rates.h"
#include "busbar/engine/flow/internal/fixed_rates.h"
#include "busbar/engine/flow/internal/fresh_rates.h"
#include "busbar/routing/path_view.h"
#include "busbar/routing/slowest_cable.h"
#include "busbar/solve/transfer_clock.h"

namespace busbar::engine {
namespace {

/// The links of all flows, numbered densely as they are met. Cables that traffic loads alike count as one link, the
/// slowest of them.
struct Paths {
  routing::PerCapacity<std::uint32_t> number;  ///< dense number; kNone32: no flow crosses it
  std::vector<routing::CapacityId> on;         ///< by dense number
  std::vector<topology::LinkId> link_of;       ///< by dense number: the link, or the slowest of the bundle
  std::vector<double> capacity;                ///< bytes per ps
  std::vector<double> bytes;                   ///< by dense number, of the whole bundle
  std::vector<std::uint32_t> flows;            ///< likewise
  Csr<std::uint32_t> links;                    ///< per flow
  std::vector<double> weights;                 ///< per entry of links.values
  std::vector<double> latency_ps, narrowest;   ///< per flow; narrowest in bytes per ps, infinity on no link

  Status route(const routing::Router& router, const program::FlowList& list, const Shortcuts& shortcuts);
};

/// Memory channels carry one direction at a time: reading counts as writing. Source: JEDEC JESD79-5 (DDR5)
/// and JESD209-5 (LPDDR5), one bidirectional data bus per channel.
topology::LinkId bus_of(const topology::Topology& t, topology::LinkId l) {
  return t.link_class(l).kind == topology::LinkKind::kHost && t.kind(t.from(l)) == topology::DeviceKind::kNuma
             ? topology::reverse(l)
             : l;
}

/// Bytes per second. What a drive writes may be slower than its link.
double rate_of_link(const topology::Topology& t, topology::LinkId l, const program::RateShares& shares) {
  const double rate = t.payload_rate(l) * shares.of(t.link_class(l).kind);
  const topology::DeviceClass& to = t.device_class(t.to(l));
  const bool slower = to.kind == topology::DeviceKind::kNvme && per_second(to.transit_rate) > 0;
  return slower ? std::min(rate, static_cast<double>(per_second(to.transit_rate))) : rate;
}

Status Paths::route(const routing::Router& router, const program::FlowList& list, const Shortcuts& shortcuts) {
  const topology::Topology& t = router.topology();
  const routing::FabricBundles* const bundles =
      list.reach.gpudirect && list.reach.p2p && shortcuts.has(Shortcut::kBundles) ? router.bundles() : nullptr;
  if (bundles) shortcuts.take(Shortcut::kBundles);
  const auto rate_of = [&](topology::LinkId l) { return rate_of_link(t, l, list.shares); };
  number = {routing::CapacityCounts{t.link_count(), 0, bundles ? bundles->count() : 0}, kNone32};
  std::vector<routing::LinkShare> cables;
  std::vector<routing::CapacityShare> path;
  for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
    const program::ListedFlow& flow = list.flows[f];
    path.clear(), cables.clear();
    if (!flow.is_work())
      BUSBAR_RETURN_IF_ERROR(bundles ? router.spread_bundled(flow.from, flow.to, flow.nic_from, flow.nic_to, path)
                                     : routing::spread_reaching(router, list.reach, flow.from, flow.to, flow.nic_from,
                                                                flow.nic_to, f, cables));
    for (routing::CapacityShare& s : path)  // bundles are of cables, and memory is on none
      if (!s.on.is_bundle()) s.on = bus_of(t, s.on.link());
    for (const routing::LinkShare& s : cables) path.push_back({bus_of(t, s.link), s.share});
    double latency = 0, rate = INFINITY;
    for (const routing::CapacityShare& s : path) {
      std::uint32_t& n = number[s.on];
      if (n == kNone32) {
        n = static_cast<std::uint32_t>(on.size());
        on.push_back(s.on);
        link_of.push_back(s.on.is_bundle() ? routing::slowest_cable(*bundles, s.on.number(), rate_of) : s.on.link());
        const double width = s.on.is_bundle() ? bundles->width(s.on.number()) : 1;
        capacity.push_back(width * rate_of(link_of.back()) / kPsPerSecond);
        bytes.push_back(0);
        flows.push_back(0);
      }
      bytes[n] += s.share * static_cast<double>(count(flow.bytes));
      ++flows[n];
      links.values.push_back(n);
      weights.push_back(s.share);
      latency += s.share * static_cast<double>(t.link_class(link_of[n]).latency.in_ps());
      rate = std::min(rate, capacity[n] / s.share);
    }
    links.close_row();
    latency_ps.push_back(latency);
    narrowest.push_back(rate);
  }
  return {};
}

/// Rates: FixedRates, FreshRates or AdaptiveRates.
template <typename Rates>
class ListRun {
 public:
  ListRun(const program::FlowList& list, const Paths& paths, Rates& rates, StopFlag stop)
      : list_(list),
        paths_(paths),
        rates_(rates),
        clock_(rates, static_cast<std::uint32_t>(list.flows.size()), stop),
        successors_(program::successors_of(list)),
        waits_for_(list.flows.size()),
        ready_ps_(list.flows.size()) {
    out_.flows.resize(list.flows.size());
    for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
      waits_for_[f] = static_cast<std::uint32_t>(list.after.row(f).size());
      ready_ps_[f] = list.flows[f].start.since_start().in_ps();
      if (waits_for_[f] == 0) start_soon(f);
    }
  }

  FlowListResult run() {
    out_.events = clock_.run([this](auto f, auto now) { start(f, now); }, [this](auto f, auto now) { end(f, now); });
    out_.rate_changes = clock_.rate_changes();
    return std::move(out_);
  }

 private:
  void start_soon(std::uint32_t f) { clock_.start_at(f, ready_ps_[f] + list_.flows[f].overhead.in_ps()); }

  void start(std::uint32_t f, std::int64_t now) {
    FlowOutcome& o = out_.flows[f];
    o.start = SimTime::at(Duration::ps(now));
    o.latency = duration_from_ps(paths_.latency_ps[f]);
    const auto bytes = static_cast<double>(count(list_.flows[f].bytes));
    o.transfer = duration_from_ps(bytes / paths_.narrowest[f]);
    if (list_.flows[f].is_work()) {
      o.transfer = list_.flows[f].overhead;
      o.start = SimTime::at(Duration::ps(now) - o.transfer);
      return arrive(f, now);
    }
    if (o.transfer == Duration()) return arrive(f, now);
    clock_.send(f, bytes, now);
  }

  void end(std::uint32_t f, std::int64_t now) {
    out_.flows[f].held_by = rates_.held_by(f);
    arrive(f, now);
  }

  void arrive(std::uint32_t f, std::int64_t sent_ps) {
    FlowOutcome& o = out_.flows[f];
    const Duration sending = Duration::ps(sent_ps) - o.start.since_start();
    o.sharing = std::max(Duration(), sending - o.transfer);  // both are rounded up: the difference may be -1 ps
    o.transfer = sending - o.sharing;
    o.fct = sending + o.latency;
    o.done = true;
    ++out_.done;
    out_.end = std::max(out_.end, o.start + o.fct);
    for (const std::uint32_t next : successors_.row(f)) {
      ready_ps_[next] = std::max(ready_ps_[next], sent_ps + released_after_ps(f, next));
      if (--waits_for_[next] == 0) start_soon(next);
    }
  }

  /// From when flow `f` has left until it releases `next`. The overhead of what only waits for its turn overlaps.
  std::int64_t released_after_ps(std::uint32_t f, std::uint32_t next) const {
    const program::ListedFlow& waiting = list_.flows[next];
    const std::int64_t latency_ps = out_.flows[f].latency.in_ps();
    if (waiting.trigger == program::FlowTrigger::kSent && waiting.from == list_.flows[f].from)
      return -waiting.overhead.in_ps();
    return waiting.trigger == program::FlowTrigger::kAcked ? 2 * latency_ps : latency_ps;
  }

  const program::FlowList& list_;
  const Paths& paths_;
  Rates& rates_;
  solve::TransferClock<Rates> clock_;
  Csr<std::uint32_t> successors_;
  std::vector<std::uint32_t> waits_for_;
  std::vector<std::int64_t> ready_ps_;
  FlowListResult out_;
};

template <typename Rates>
FlowListResult run_fixed(const routing::Router& router, const program::FlowList& list, const Paths& paths,
                         const Shortcuts& shortcuts, StopFlag stop) {
  Rates rates(paths.link_of, paths.capacity, shortcuts);
  for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
    const std::uint32_t begin = paths.links.begin[f], size = paths.links.begin[f + 1] - begin;
    rates.add(paths.links.row(f), std::span(paths.weights).subspan(begin, size), INFINITY);
  }
  FlowListResult out = ListRun(list, paths, rates, stop).run();
  for (std::size_t n = 0; n < paths.on.size(); ++n) {
    if (paths.bytes[n] <= 0) continue;
    if (paths.on[n].is_link()) {
      out.links.push_back({paths.on[n].link(), paths.bytes[n], paths.flows[n]});
      continue;
    }
    const std::uint32_t b = paths.on[n].number(), width = router.bundles()->width(b);
    for (std::uint32_t i = 0; i < width; ++i)
      out.links.push_back({router.bundles()->link(b, i), paths.bytes[n] / width, paths.flows[n]});
  }
  std::sort(out.links.begin(), out.links.end(), [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
  return out;
}

FlowListResult run_adaptive(const routing::Router& router, const program::FlowList& list, const Paths& paths,
                            const Shortcuts& shortcuts, StopFlag stop) {
  std::vector<routing::LinkShare> links;
  const auto way = [&](std::uint32_t f, const routing::SplitBias& bias, std::vector<routing::CapacityShare>& path) {
    const program::ListedFlow& flow = list.flows[f];
    if (flow.is_work()) return;
    const Status found = routing::spread_reaching(router, list.reach, flow.from, flow.to, flow.nic_from, flow.nic_to, f,
                                                  links, nullptr, bias);
    BUSBAR_CHECK(found.ok());  // Paths::route() has gone there
    for (const routing::LinkShare& s : links) path.push_back({bus_of(router.topology(), s.link), s.share});
    links.clear();
  };
  const auto rate = [&](routing::CapacityId c) {
    return rate_of_link(router.topology(), c.link(), list.shares) / kPsPerSecond;
  };
  const routing::CapacityCounts links_only{router.topology().link_count()};
  AdaptiveRates rates(router, way, links_only, rate, INFINITY, static_cast<std::uint32_t>(list.flows.size()),
                      shortcuts);
  FlowListResult out = ListRun(list, paths, rates, stop).run();
  for (std::uint32_t l = 0; l < links_only.links; ++l)
    if (rates.bytes_on(topology::LinkId{l}) > 0)
      out.links.push_back(
          {topology::LinkId{l}, rates.bytes_on(topology::LinkId{l}), rates.items_on(topology::LinkId{l})});
  return out;
}

}  // namespace

Result<FlowListResult> run_flow_list(const routing::Router& router, const program::FlowList& list,
                                     const Shortcuts& shortcuts, StopFlag stop) {
  Paths paths;
  BUSBAR_RETURN_IF_ERROR(paths.route(router, list, shortcuts));
  if (router.splits()) return run_adaptive(router, list, paths, shortcuts, stop);
  return shortcuts.take(Shortcut::kOnlineRates) ? run_fixed<FixedRates>(router, list, paths, shortcuts, stop)
                                                : run_fixed<FreshRates>(router, list, paths, shortcuts, stop);
}

}  // namespace busbar::engine
