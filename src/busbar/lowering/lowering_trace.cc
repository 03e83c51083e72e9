// Walks the longest dependency chain of a lowered call, hop by hop.
#include <algorithm>
#include <cmath>

#include "busbar/collectives/tree_nodes.h"
#include "busbar/lowering/internal/lowering_state.h"

namespace busbar {
namespace {

/// One send on the chain.
struct Hop {
  std::uint32_t from, to, round;
  PieceCost cost;
};

ChainPart part(ChainPartKind kind, const std::string& phase, const Hop& first, const Hop& last, std::uint32_t rounds,
               LinkId link, double ps) {
  return {kind, phase, first.from, last.to, first.round, rounds, link, ps};
}

/// Hops that follow each other: for each class of narrowest link its latencies, then its bytes.
std::vector<ChainPart> parts_of(const std::vector<Hop>& hops, const std::string& phase, const Topology& t) {
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

}  // namespace

bool Lowering::State::traces(const LoweredCall& out, const Stage& stage) const {
  return trace != nullptr && out.stages.size() < trace->fluid.size() &&
         trace->fluid[out.stages.size()] == stage.fluids.size();
}

std::vector<ChainPart> Lowering::State::trace_run(const Schedule& s, PhaseRun run, std::uint32_t group,
                                                  double chunk_bytes, const std::string& phase) {
  const Phase& first = s.phases[run.begin];
  const GroupFamily& family = s.families[first.family];
  const std::uint32_t n = family.size();
  const double piece = chunk_bytes * first.span, busiest = most_bytes();
  const auto actor_at = [&](std::uint32_t p) { return family.actor(group, family.member_at(p % n)); };
  const auto hop_of = [&](std::uint32_t from, std::uint32_t to, std::uint32_t key, std::uint32_t round) {
    const Connection& c = connections[connection_of[key]];
    PieceCost cost = cost_of(c, piece, busiest);
    if (!is_ring(first.pattern)) cost.passing_ps = c.transfer_ps;
    return Hop{from, to, round, cost};
  };
  std::vector<Hop> hops;
  switch (first.pattern) {
    case Pattern::kRingReduceScatter:
    case Pattern::kRingAllGather: {
      const std::uint64_t rounds = (run.end - run.begin) * std::uint64_t{n - 1};
      chain.ring.clear();
      for (std::uint32_t p = 0; p < n; ++p) hops.push_back(hop_of(actor_at(p), actor_at(p + 1), actor_at(p), 1));
      for (const Hop& h : hops) chain.ring.add(h.cost.in_ring());
      const double ps = chain.ring.longest(rounds);
      if (const FullRound full = full_round(piece); static_cast<double>(rounds) * full.ps() > ps)
        return trace_full_rounds(full, rounds, phase);
      const RingWindow w = chain.ring.window();
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
      std::vector<ChainPart> out{
          part(ChainPartKind::kLatency, phase, start, end, length, farthest->cost.narrowest, latency)};
      const double once = passing - slowest->cost.passing_ps;
      const double stays = slowest->cost.passing_ps + rest * slowest->cost.staying_ps;
      const bool even = once >= (length - 1) * slowest->cost.passing_ps * (1 - 1e-9);
      if (even) {
        out.push_back(
            part(ChainPartKind::kBandwidth, phase, start, end, length + rest, slowest->cost.narrowest, once + stays));
        return out;
      }
      out.push_back(part(ChainPartKind::kBandwidth, phase, start, end, length - 1, start.cost.narrowest, once));
      out.push_back(
          part(ChainPartKind::kBandwidth, phase, *slowest, *slowest, rest + 1, slowest->cost.narrowest, stays));
      return out;
    }
    case Pattern::kChainBroadcast:
    case Pattern::kChainReduce: {
      const std::uint32_t at = first.pattern == Pattern::kChainReduce ? first.root + 1 : first.root;
      for (std::uint32_t k = 0; k + 1 < n; ++k)
        hops.push_back(hop_of(actor_at(at + k), actor_at(at + k + 1), actor_at(at + k), k + 1));
      break;
    }
    case Pattern::kTreeReduce:
    case Pattern::kTreeBroadcast: {
      const bool up = first.pattern == Pattern::kTreeReduce;
      const TreeNodes tree(s, first, n);
      std::vector<double> ready(n, 0.0);
      std::vector<std::uint32_t> via(n, 0);  // up: the child a node waits for
      const auto hop_at = [&](std::uint32_t node) {
        const std::uint32_t child = actor_at(tree.position(node)), parent = actor_at(tree.position(tree.parent(node)));
        return up ? hop_of(child, parent, child, 0) : hop_of(parent, child, child, 0);
      };
      std::uint32_t last = 0;
      tree.for_each(up, [&](std::uint32_t node) {
        const std::uint32_t from = up ? node : tree.parent(node), to = up ? tree.parent(node) : node;
        const Hop h = hop_at(node);
        const double end = ready[from] + h.cost.passing_ps + h.cost.latency_ps;
        if (end > ready[to]) ready[to] = end, via[to] = node;
        if (ready[to] > ready[last]) last = to;
      });
      for (std::uint32_t node = last; up ? via[node] != 0 : node != 0; node = up ? via[node] : tree.parent(node))
        hops.push_back(hop_at(up ? via[node] : node));
      std::reverse(hops.begin(), hops.end());
      for (std::uint32_t i = 0; i < hops.size(); ++i) hops[i].round = i + 1;
      break;
    }
    default:
      hops.clear();
      return trace_steps(s, run, group, phase);
  }
  return parts_of(hops, phase, topology());
}

std::vector<ChainPart> Lowering::State::trace_full_rounds(const FullRound& round, std::uint64_t rounds,
                                                          const std::string& phase) const {
  ChainPart part;
  part.phase = phase;
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

/// As chain.h walks stepwise phases, with the send that each position last waited for.
std::vector<ChainPart> Lowering::State::trace_steps(const Schedule& s, PhaseRun run, std::uint32_t group,
                                                    const std::string& phase) {
  const GroupFamily& family = s.families[s.phases[run.begin].family];
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
  for (std::uint32_t i = run.begin; i < run.end; ++i) {
    const Phase& ph = s.phases[i];
    for (std::uint32_t r = 0; r < stepwise_rounds(ph.pattern, n); ++r) {
      ++round;
      for_each_send(ph, n, r, [&](const Send& send) {
        const Connection& c = connections[at++];
        LinkId slow = kNone<LinkId>;
        double most = -1;
        for (std::uint32_t k = c.begin; k < c.end; ++k) {
          const double ps = path[k].share * c.bytes / table.rate(path[k].on);
          if (ps > most) most = ps, slow = table.link_of(path[k].on);
        }
        const double left = ready[send.src] + c.transfer_ps, there = left + c.latency_ps;
        const auto number = static_cast<std::int64_t>(steps.size());
        steps.push_back({{actor_of(ph, family, n, group, send.src),
                          actor_of(ph, family, n, group, send.dst),
                          round,
                          {c.latency_ps, c.transfer_ps, c.transfer_ps, slow}},
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
  std::erase_if(hops, [](const Hop& h) { return h.cost.narrowest == kNone<LinkId>; });
  return parts_of(hops, phase, topology());
}

Result<std::vector<ChainPart>> Lowering::explain(const CollectiveCall& call) {
  State& st = *state_;
  BUSBAR_ASSIGN(const LoweredCall base, lower(call));
  Trace trace;
  double launch_ps = base.launch_ps;
  for (const Stage& s : base.stages) {
    const auto slowest = std::max_element(s.fluids.begin(), s.fluids.end(),
                                          [](const Fluid& a, const Fluid& b) { return a.alone_ps < b.alone_ps; });
    trace.fluid.push_back(static_cast<std::uint32_t>(slowest - s.fluids.begin()));
    launch_ps -= s.latency_ps;
  }
  trace.parts.resize(base.stages.size());
  st.trace = &trace;
  const Result<LoweredCall> again = lower(call);
  st.trace = nullptr;
  if (!again.ok()) return again.error();
  std::vector<ChainPart> out;
  if (launch_ps > 0.5)
    out.push_back(
        {ChainPartKind::kLaunch, "launch", kNone32, kNone32, 0, 0, kNone<LinkId>, launch_ps});
  for (std::size_t k = 0; k < base.stages.size(); ++k) {
    const Stage& s = base.stages[k];
    const Fluid& f = s.fluids[trace.fluid[k]];
    const double total = s.latency_ps + std::max(s.slowest_alone_ps, s.load_ps);
    std::vector<ChainPart>& parts = trace.parts[k];
    if (s.load_ps <= s.slowest_alone_ps && std::abs(sum_ps(parts) - total) <= 1e-6 * total) {
      out.insert(out.end(), parts.begin(), parts.end());
      continue;
    }
    LinkId link = s.busiest;  // a link's load, or a fluid's own
    double most = -1;
    for (std::uint32_t i = f.begin; i < f.end && s.load_ps < s.slowest_alone_ps; ++i)
      if (const double ps = s.weight[i] / st.table.rate(s.on[i]); ps > most)
        most = ps, link = st.table.link_of(s.on[i]);
    ChainPart p;
    p.phase = s.phase;
    p.link = link;
    p.kind = ChainPartKind::kLatency;
    p.ps = s.latency_ps;
    out.push_back(p);
    p.kind = ChainPartKind::kBandwidth;
    p.ps = total - s.latency_ps;
    out.push_back(p);
  }
  return out;
}

}  // namespace busbar
