#include "busbar/packet/internal/split.h"

#include <algorithm>

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
void join_triggers(const Wiring& wiring, const FlowList& list, const std::vector<std::uint32_t>& routes,
                   Groups& groups) {
  for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
    const std::uint32_t here = NetworkPart::home(wiring, wiring.route(routes[f]).forth);
    for (const std::uint32_t before : list.after.row(f)) {
      const Leg& leg = wiring.route(routes[before]).forth;
      groups.join(here, list.flows[f].trigger == FlowTrigger::kReceived ? leg.target : NetworkPart::home(wiring, leg));
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

NetworkSplit split_network(const Wiring& wiring, const FlowList& list, const std::vector<std::uint32_t>& routes,
                           std::uint32_t wanted) {
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

}  // namespace busbar::packet
