#include "busbar/packet/internal/split.h"

#include <algorithm>

#include "busbar/base/cores.h"
#include "busbar/base/disjoint_sets.h"

namespace busbar::packet {
namespace {

/// Nodes that must stay together.
using Groups = DisjointSets;

/// `cut_nics`: also cuts cables between NICs and switches, for NICs that only forward the packets of GPUs.
Groups groups_of(const Wiring& wiring, bool cut_nics) {
  Groups groups(wiring.nodes());
  std::vector<bool> outlet(wiring.wires().size());
  for (const std::uint32_t w : wiring.outlets().values) outlet[w] = true;
  for (std::uint32_t w = 0; w < wiring.wires().size(); ++w) {
    const Wire& x = wiring.wires()[w];
    const bool inside = x.from < wiring.switches() && x.to < wiring.switches();
    const bool cable = !x.in_server && (inside || cut_nics) && !outlet[w] && !outlet[w ^ 1];
    if (!cable || x.latency <= 0) groups.join(x.from, x.to);
  }
  return groups;
}

/// A flow that depends on another starts at once when that ends: joins the two nodes concerned.
void join_triggers(const Wiring& wiring, const program::FlowList& list, const std::vector<std::uint32_t>& routes,
                   Groups& groups) {
  for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
    const std::uint32_t here = NetworkPart::home(wiring, wiring.route(routes[f]).forth);
    for (const std::uint32_t before : list.after.row(f)) {
      const Leg& leg = wiring.route(routes[before]).forth;
      const bool at_sender =
          list.flows[f].trigger == program::FlowTrigger::kAcked ||
          (list.flows[f].trigger == program::FlowTrigger::kSent && list.flows[f].from == list.flows[before].from);
      groups.join(here, at_sender ? NetworkPart::home(wiring, leg) : leg.target);
    }
  }
}

struct Weights {
  std::vector<std::uint64_t> wires;  ///< per group: wires that leave its nodes
  std::vector<bool> hosts;           ///< per group: whether it has hosts
  std::uint32_t with_hosts = 0;
};

Weights weigh(const Wiring& wiring, Groups& groups) {
  Weights x{std::vector<std::uint64_t>(wiring.nodes()), std::vector<bool>(wiring.nodes())};
  for (const Wire& w : wiring.wires()) ++x.wires[groups.find(w.from)];
  for (std::uint32_t o = 0; o < wiring.outlets().rows(); ++o) {
    const std::uint32_t g = groups.find(wiring.wires()[wiring.outlets().row(o).front()].from);
    if (!x.hosts[g]) ++x.with_hosts;
    x.hosts[g] = true;
  }
  return x;
}

/// Deals groups with hosts (or those without) to parts, in the order of their numbers, with about equal weights.
void deal(const Weights& x, bool hosts, std::uint32_t parts, std::vector<std::uint16_t>& part_of_group) {
  std::uint64_t all = 0, before = 0;
  for (std::size_t g = 0; g < x.wires.size(); ++g) all += x.hosts[g] == hosts ? x.wires[g] : 0;
  for (std::size_t g = 0; g < x.wires.size(); ++g) {
    if (x.hosts[g] != hosts || x.wires[g] == 0) continue;
    part_of_group[g] = static_cast<std::uint16_t>((2 * before + x.wires[g]) * parts / (2 * all));
    before += x.wires[g];
  }
}

}  // namespace

NetworkSplit split_network(const Wiring& wiring, const program::FlowList& list,
                           const std::vector<std::uint32_t>& routes, std::uint32_t wanted) {
  NetworkSplit split;
  if (wanted < 2) return split;
  Groups groups = groups_of(wiring, false);
  join_triggers(wiring, list, routes, groups);
  Weights x = weigh(wiring, groups);
  if (x.with_hosts < wanted) {
    groups = groups_of(wiring, true);
    join_triggers(wiring, list, routes, groups);
    x = weigh(wiring, groups);
  }
  split.parts = std::min(wanted, x.with_hosts);
  if (split.parts < 2) return NetworkSplit{};
  std::vector<std::uint16_t> part_of_group(wiring.nodes());
  deal(x, true, split.parts, part_of_group);
  deal(x, false, split.parts, part_of_group);
  split.part.resize(wiring.nodes());
  for (std::uint32_t n = 0; n < wiring.nodes(); ++n) split.part[n] = part_of_group[groups.find(n)];
  for (const Wire& w : wiring.wires())
    if (split.of(w.from) != split.of(w.to)) split.lookahead = std::min(split.lookahead, w.latency);
  return split;
}

namespace {

/// The time for which the busiest host sends or receives at its full rate.
Ps busiest_host(const Wiring& wiring, const program::FlowList& list, std::span<const std::uint32_t> routes) {
  std::vector<double> sends(wiring.outlets().rows()), receives(wiring.outlets().rows());
  double most = 0;
  for (std::uint32_t f = 0; f < routes.size(); ++f) {
    if (list.flows[f].is_work()) continue;
    const Route& route = wiring.route(routes[f]);
    const auto bytes = static_cast<double>(count(list.flows[f].bytes));
    const auto add = [&](std::vector<double>& busy, std::uint32_t outlet) {
      const Wire& w = wiring.wires()[wiring.outlets().row(outlet).front()];
      busy[outlet] += bytes * static_cast<double>(w.ps_bytes) / static_cast<double>(w.bytes * wiring.width(outlet));
      most = std::max(most, busy[outlet]);
    };
    add(sends, route.forth.outlet);
    add(receives, route.back.outlet);
  }
  return static_cast<Ps>(most);
}

/// How many threads make a run shorter, where the caller leaves that open: each needs an idle core, and enough to do
/// between two meetings of all, which take microseconds. Source of the limits: docs/speed.md, Packets.
std::uint32_t threads_that_pay(const Wiring& wiring, const program::FlowList& list,
                               const std::vector<std::uint32_t>& routes, double hops) {
  constexpr double kWorth = 5e5, kHopsBetweenMeetings = 1000;
  const std::uint32_t cores = std::min(kMostIdleCores, idle_cores());
  if (cores < 2 || hops < kWorth) return 1;
  const NetworkSplit split = split_network(wiring, list, routes, cores);
  if (split.parts < 2) return 1;
  const double meetings =
      static_cast<double>(busiest_host(wiring, list, routes)) / static_cast<double>(split.lookahead);
  const double parts = hops / std::max(1.0, meetings) / kHopsBetweenMeetings;
  return parts < 2 ? 1 : std::min(split.parts, static_cast<std::uint32_t>(std::min(parts, 1e3)));
}

}  // namespace

NetworkSplit split_where_it_pays(const Wiring& wiring, const program::FlowList& list,
                                 const std::vector<std::uint32_t>& routes, double hops) {
  return split_network(wiring, list, routes, threads_that_pay(wiring, list, routes, hops));
}

}  // namespace busbar::packet
