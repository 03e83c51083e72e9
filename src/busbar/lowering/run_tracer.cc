#include "busbar/lowering/internal/run_tracer.h"

#include <algorithm>

#include "busbar/collectives/tree_nodes.h"

namespace busbar::lowering {
namespace {

using Hop = RunTracer::Hop;

ChainPart part(ChainPartKind kind, const std::string& phase, const Hop& first, const Hop& last, std::uint32_t rounds,
               topology::LinkId link, double ps) {
  return {kind, phase, first.from, last.to, first.round, rounds, link, ps};
}

/// Hops that follow each other: for each class of narrowest link its latencies, then its bytes.
std::vector<ChainPart> parts_of(const std::vector<Hop>& hops, const std::string& phase, const topology::Topology& t) {
  std::vector<ChainPart> out;
  for (const ChainPartKind kind : {ChainPartKind::kLatency, ChainPartKind::kBandwidth}) {
    std::vector<std::uint16_t> classes;
    for (const Hop& h : hops) {
      const double ps = kind == ChainPartKind::kLatency ? h.cost.latency_ps : h.cost.passing_ps;
      const std::uint16_t c = t.link_class_index(h.cost.narrowest);
      const auto known = std::find(classes.begin(), classes.end(), c);
      if (known == classes.end()) {
        classes.push_back(c);
        out.push_back(part(kind, phase, h, h, 1, h.cost.narrowest, ps));
        continue;
      }
      ChainPart& p = out[out.size() - classes.size() + static_cast<std::size_t>(known - classes.begin())];
      p.to = h.to;
      ++p.rounds;
      p.ps += ps;
    }
  }
  return out;
}

/// The sends that the last piece of a ring waited for. `edges`: the ring's, in order.
std::vector<Hop> chain_of(const FollowedRing& ring, const std::vector<Hop>& edges, std::uint64_t rounds) {
  const std::size_t n = edges.size();
  const auto left = [&](std::size_t e, std::uint64_t r) { return static_cast<double>(ring.left_ps[e * rounds + r]); };
  const auto there = [&](std::size_t e, std::uint64_t r) { return left(e, r) + std::round(edges[e].cost.latency_ps); };
  std::size_t e = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (there(i, rounds - 1) > there(e, rounds - 1)) e = i;
  std::vector<Hop> out;
  bool arrives = true;
  for (std::uint64_t r = rounds; r-- > 0;) {
    const std::size_t before = (e + n - 1) % n;
    const double sent_ps = r == 0 ? 0 : left(e, r - 1), there_ps = r == 0 ? 0 : there(before, r - 1);
    Hop h = edges[e];
    h.round = static_cast<std::uint32_t>(r + 1);
    h.cost.latency_ps = arrives ? std::round(h.cost.latency_ps) : 0;
    h.cost.passing_ps = left(e, r) - std::max(sent_ps, there_ps);
    out.push_back(h);
    arrives = there_ps >= sent_ps;
    if (arrives) e = before;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<ChainPart> RunTracer::trace() const {
  const collectives::Phase& phase = plan_.first_phase(of_.phases);
  switch (phase.pattern) {
    case collectives::Pattern::kRingReduceScatter:
    case collectives::Pattern::kRingAllGather:
      return ring();
    case collectives::Pattern::kChainBroadcast:
    case collectives::Pattern::kChainReduce:
      return parts_of(chain(), name_, machine_.topology());
    case collectives::Pattern::kTreeReduce:
    case collectives::Pattern::kTreeBroadcast:
      return parts_of(tree(), name_, machine_.topology());
    default:
      return parts_of(rounds(), name_, machine_.topology());
  }
}

std::uint32_t RunTracer::actor_at(std::uint32_t position) const {
  const collectives::GroupFamily& family = plan_.family(of_.phases);
  return family.actor(of_.group, family.member_at(position % family.size()));
}

RunTracer::Hop RunTracer::hop(std::uint32_t from, std::uint32_t to, std::uint32_t key, std::uint32_t round) const {
  const Connection& c = run_.connections[run_.connection_of[key]];
  PieceCost cost = times_.piece_cost(run_, c, piece_, busiest_);
  if (!is_ring(plan_.first_phase(of_.phases).pattern)) cost.passing_ps = c.transfer_ps;
  return Hop{from, to, round, cost};
}

std::vector<ChainPart> RunTracer::ring() const {
  const std::uint32_t n = plan_.family(of_.phases).size();
  const std::uint64_t rounds = (of_.phases.end - of_.phases.begin) * std::uint64_t{n - 1};
  std::vector<Hop> hops;
  collectives::RingPath path;
  for (std::uint32_t p = 0; p < n; ++p) hops.push_back(hop(actor_at(p), actor_at(p + 1), actor_at(p), 1));
  const FullRound waiting = times_.waiting_round(run_, piece_);
  const double waiting_ps = static_cast<double>(rounds) * waiting.ps();
  if (run_.followed.known() && run_.followed.end_ps >= waiting_ps)
    return parts_of(chain_of(run_.followed, hops, rounds), name_, machine_.topology());
  if (run_.followed.known()) return full_rounds(waiting, rounds);
  for (const Hop& h : hops) path.add(h.cost.in_ring());
  const double ps = std::max(path.longest(rounds), waiting_ps);
  if (const FullRound full = times_.full_round(run_, piece_); static_cast<double>(rounds) * full.ps() > ps)
    return full_rounds(full, rounds);
  if (ps == waiting_ps) return full_rounds(waiting, rounds);
  const collectives::RingWindow w = path.window();
  const Hop &start = hops[w.first % n], &end = hops[(w.first + w.length - 1) % n];
  double latency = 0, passing = 0, longest = -1;
  const Hop *slowest = &start, *farthest = &start;
  for (std::uint64_t i = w.first; i < w.first + w.length; ++i) {
    const Hop& h = hops[i % n];
    latency += h.cost.latency_ps;
    passing += h.cost.passing_ps;
    if (h.cost.staying_ps > slowest->cost.staying_ps) slowest = &h;
    if (h.cost.latency_ps > longest) longest = h.cost.latency_ps, farthest = &h;
  }
  const auto length = static_cast<std::uint32_t>(w.length), rest = static_cast<std::uint32_t>(rounds - w.length);
  const auto bytes = [&](const Hop& first, const Hop& last, std::uint32_t count, topology::LinkId link,
                         double bytes_ps) {
    return part(ChainPartKind::kBandwidth, name_, first, last, count, link, bytes_ps);
  };
  std::vector<ChainPart> out{
      part(ChainPartKind::kLatency, name_, start, end, length, farthest->cost.narrowest, latency)};
  const double once = passing - slowest->cost.passing_ps;
  const double stays = slowest->cost.passing_ps + rest * slowest->cost.staying_ps;
  const bool even = once >= (length - 1) * slowest->cost.passing_ps * (1 - 1e-9);
  if (even) {
    out.push_back(bytes(start, end, length + rest, slowest->cost.narrowest, once + stays));
    return out;
  }
  out.push_back(bytes(start, end, length - 1, start.cost.narrowest, once));
  out.push_back(bytes(*slowest, *slowest, rest + 1, slowest->cost.narrowest, stays));
  return out;
}

std::vector<ChainPart> RunTracer::full_rounds(const FullRound& round, std::uint64_t rounds) const {
  ChainPart part;
  part.phase = name_;
  part.rounds = static_cast<std::uint32_t>(rounds);
  part.link = round.link;
  part.kind = ChainPartKind::kLatency;
  part.ps = static_cast<double>(rounds) * round.idle_ps;
  std::vector<ChainPart> out{part};
  part.kind = ChainPartKind::kBandwidth;
  part.ps = static_cast<double>(rounds) * round.busy_ps;
  out.push_back(part);
  return out;
}

std::vector<RunTracer::Hop> RunTracer::chain() const {
  const collectives::Phase& phase = plan_.first_phase(of_.phases);
  const std::uint32_t n = plan_.family(of_.phases).size();
  const std::uint32_t at = phase.pattern == collectives::Pattern::kChainReduce ? phase.root + 1 : phase.root;
  std::vector<Hop> hops;
  for (std::uint32_t k = 0; k + 1 < n; ++k)
    hops.push_back(hop(actor_at(at + k), actor_at(at + k + 1), actor_at(at + k), k + 1));
  return hops;
}

std::vector<RunTracer::Hop> RunTracer::tree() const {
  const collectives::Phase& phase = plan_.first_phase(of_.phases);
  const std::uint32_t n = plan_.family(of_.phases).size();
  const bool up = phase.pattern == collectives::Pattern::kTreeReduce;
  const collectives::TreeNodes nodes(plan_.schedule, phase, n);
  std::vector<double> ready(n, 0.0);
  std::vector<std::uint32_t> via(n, 0);  // up: the child a node waits for
  const auto hop_at = [&](std::uint32_t node) {
    const std::uint32_t child = actor_at(nodes.position(node)), parent = actor_at(nodes.position(nodes.parent(node)));
    return up ? hop(child, parent, child, 0) : hop(parent, child, child, 0);
  };
  std::uint32_t last = 0;
  nodes.for_each(up, [&](std::uint32_t node) {
    const std::uint32_t from = up ? node : nodes.parent(node), to = up ? nodes.parent(node) : node;
    const Hop h = hop_at(node);
    const double end = ready[from] + h.cost.passing_ps + h.cost.latency_ps;
    if (end > ready[to]) ready[to] = end, via[to] = node;
    if (ready[to] > ready[last]) last = to;
  });
  std::vector<Hop> hops;
  for (std::uint32_t node = last; up ? via[node] != 0 : node != 0; node = up ? via[node] : nodes.parent(node))
    hops.push_back(hop_at(up ? via[node] : node));
  std::reverse(hops.begin(), hops.end());
  for (std::uint32_t i = 0; i < hops.size(); ++i) hops[i].round = i + 1;
  return hops;
}

/// As chain.h walks stepwise phases, with the send that each position last waited for.
std::vector<RunTracer::Hop> RunTracer::rounds() const {
  const collectives::GroupFamily& family = plan_.family(of_.phases);
  const std::uint32_t n = family.size();
  struct Step {
    Hop hop;
    std::int64_t before;  ///< the step its sender waited for, -1: none
  };
  std::vector<Step> steps;
  std::vector<double> ready(n + 1, 0.0), next(n + 1, 0.0);
  std::vector<std::int64_t> why(n + 1, -1), next_why(n + 1, -1);
  std::size_t at = 0;
  std::uint32_t round = 0;
  double last = 0;
  std::int64_t end_step = -1;
  for (std::uint32_t i = of_.phases.begin; i < of_.phases.end; ++i) {
    const collectives::Phase& ph = plan_.schedule.phases[i];
    for (std::uint32_t r = 0; r < collectives::stepwise_rounds(ph.pattern, n); ++r) {
      ++round;
      collectives::for_each_send(ph, n, r, [&](const collectives::Send& send) {
        const Connection& c = run_.connections[at++];
        const double left = ready[send.src] + c.transfer_ps, there = left + c.latency_ps;
        const auto number = static_cast<std::int64_t>(steps.size());
        steps.push_back({{collectives::actor_of(ph, family, n, of_.group, send.src),
                          collectives::actor_of(ph, family, n, of_.group, send.dst),
                          round,
                          {c.latency_ps, c.transfer_ps, c.transfer_ps, slowest_link(c)}},
                         why[send.src]});
        if (left > next[send.src]) next[send.src] = left, next_why[send.src] = -2 - number;  // sent, not arrived
        if (there > next[send.dst]) next[send.dst] = there, next_why[send.dst] = number;
        if (there > last) last = there, end_step = number;
      });
      ready = next;
      why = next_why;
    }
  }
  std::vector<Hop> hops;
  for (std::int64_t k = end_step; k != -1;) {
    const bool sent = k < -1;
    const Step& step = steps[static_cast<std::size_t>(sent ? -2 - k : k)];
    hops.push_back(step.hop);
    if (sent) hops.back().cost.latency_ps = 0;  // its sender goes on when it has left
    k = step.before;
  }
  std::reverse(hops.begin(), hops.end());
  std::erase_if(hops, [](const Hop& h) { return h.cost.narrowest == kNone<topology::LinkId>; });
  return hops;
}

topology::LinkId RunTracer::slowest_link(const Connection& c) const {
  topology::LinkId slow = kNone<topology::LinkId>;
  double most = -1;
  for (std::uint32_t k = c.begin; k < c.end; ++k) {
    const routing::CapacityShare& l = run_.path[k];
    const double ps = l.share * c.bytes / machine_.table.rate(l.on);
    if (ps > most) most = ps, slow = machine_.table.link_of(l.on);
  }
  return slow;
}

}  // namespace busbar::lowering
