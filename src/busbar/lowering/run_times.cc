#include "busbar/lowering/internal/run_times.h"

#include <algorithm>

namespace busbar::lowering {

void RunTimes::time_round(OpenRun& run, std::size_t first, std::size_t last, bool others) {
  const auto each_link = [&](auto&& f) {
    for (std::size_t i = first; i < last; ++i)
      for (std::uint32_t k = run.connections[i].begin; k < run.connections[i].end; ++k)
        f(run.connections[i], run.path[k]);
  };
  each_link([&](const Connection& c, const routing::CapacityShare& l) {
    round_load_[l.on] += l.share * c.bytes * plan_->sent.of(c);
  });
  const double cap = plan_->lanes.cap;
  for (std::size_t i = first; cap > 0 && i < last; ++i) run.connections[i].transfer_ps = run.connections[i].bytes / cap;
  each_link([&](Connection& c, const routing::CapacityShare& l) {
    const double stretch = others ? run.step_load(l.on) / run.loads[l.on] : 1;
    c.transfer_ps = std::max(c.transfer_ps, round_load_[l.on] * stretch / table_.rate(l.on));
  });
  each_link([&](const Connection&, const routing::CapacityShare& l) { round_load_[l.on] = 0; });
}

void RunTimes::time_rounds_with_others(OpenRun& run, collectives::PhaseRun phases) {
  std::size_t first = 0;
  for (std::uint32_t p = phases.begin; p < phases.end; ++p) {
    const collectives::Phase& phase = plan_->schedule.phases[p];
    const std::uint32_t n = plan_->schedule.families[phase.family].size();
    for (std::uint32_t r = 0; r < collectives::stepwise_rounds(phase.pattern, n); ++r) {
      std::size_t last = first;
      collectives::for_each_send(phase, n, r, [&](const collectives::Send&) { ++last; });
      time_round(run, first, last, true);
      first = last;
    }
  }
}

PieceCost RunTimes::piece_cost(const OpenRun& run, const Connection& c, double piece, double most) const {
  PieceCost out{c.latency_ps, capped_ps(piece), capped_ps(piece), kNone<topology::LinkId>};
  routing::CapacityId narrowest = c.begin < c.end ? run.path[c.begin].on : routing::CapacityId();
  for (std::uint32_t i = c.begin; i < c.end; ++i) {
    const routing::CapacityId l = run.path[i].on;
    const double ps_per_byte = piece / most / table_.rate(l), all_ps = run.step_load(l) * ps_per_byte;
    out.passing_ps =
        std::max(out.passing_ps, std::min(all_ps, PieceCost::kMet * run.equal * run.loads[l] * ps_per_byte));
    if (all_ps > out.staying_ps) out.staying_ps = all_ps, narrowest = l;
  }
  out.narrowest = table_.link_of(narrowest);
  return out;
}

FullRound RunTimes::full_round(const OpenRun& run, double piece) const {
  const double most = run.most_bytes();
  PieceCost quickest{INFINITY};
  double mean_ps = 0;  // latency
  for (const Connection& c : run.connections) {
    const PieceCost cost = piece_cost(run, c, piece, most);
    mean_ps += cost.latency_ps / static_cast<double>(run.connections.size());
    if (cost.latency_ps + cost.staying_ps < quickest.latency_ps + quickest.staying_ps) quickest = cost;
  }
  const double filled_ps = FullRound::kFilled * (mean_ps - quickest.latency_ps);
  return {std::max(0.0, quickest.latency_ps - filled_ps), quickest.staying_ps, quickest.narrowest};
}

FullRound RunTimes::waiting_round(const OpenRun& run, double piece) const {
  constexpr double kInBuffer = 2;
  FullRound out{0, 0, kNone<topology::LinkId>};
  const double most = run.most_bytes();
  for (const Connection& c : run.connections) {
    if (c.turn_ps + c.slot_ps == 0) continue;
    const PieceCost cost = piece_cost(run, c, piece, most);
    const double ps = std::max(c.turn_ps, c.slot_ps > 0 ? (c.slot_ps + cost.staying_ps) / kInBuffer : 0);
    if (ps > out.ps()) out = {std::max(0.0, ps - cost.staying_ps), std::min(ps, cost.staying_ps), cost.narrowest};
  }
  return out;
}

double RunTimes::held_ps(const OpenRun& run, double sends) {
  if (!table_.holds()) return 0;
  double most = 0;
  const auto each = [&](auto&& f) {
    for (const Connection& c : run.connections)
      for (std::uint32_t i = c.begin; i < c.end; ++i)
        if (table_.held_ps(run.path[i].on) > 0) f(run.path[i]);
  };
  each([&](const routing::CapacityShare& l) {
    round_load_[l.on] += l.share * sends;
    most = std::max(most, round_load_[l.on] * table_.held_ps(l.on));
  });
  each([&](const routing::CapacityShare& l) { round_load_[l.on] = 0; });
  return most;
}

double RunTimes::alone_ps(const OpenRun& run, const GroupRun& of) {
  const collectives::Schedule& s = plan_->schedule;
  const collectives::Phase& phase = plan_->first_phase(of.phases);
  if (collectives::is_stepwise(phase.pattern)) {
    std::size_t next = 0;  // RunRouter::open() went the same way
    const auto cost = [&](std::uint32_t, std::uint32_t) {
      const Connection& c = run.connections[next++];
      return collectives::SendCost{c.latency_ps,
                                   c.chunks == 0 ? 0 : c.transfer_ps * phase.span / static_cast<double>(c.chunks)};
    };
    return collectives::longest_chain(s, of.phases, of.group, cost, chain_);
  }
  const double piece = plan_->chunk_bytes() * phase.span, most = run.most_bytes();
  const double waiting_ps =
      is_ring(phase.pattern) ? collectives::run_rounds(s, of.phases) * waiting_round(run, piece).ps() : 0;
  if (run.followed.known()) return std::max(run.followed.end_ps, waiting_ps);
  const bool by_receiver = phase.pattern == collectives::Pattern::kTreeBroadcast, ring = is_ring(phase.pattern);
  bool crowded = false;
  const auto cost = [&](std::uint32_t from, std::uint32_t to) {
    const Connection& edge = run.connections[run.connection_of[by_receiver ? to : from]];
    if (!ring) return collectives::SendCost{edge.latency_ps, edge.transfer_ps};
    const PieceCost c = piece_cost(run, edge, piece, most);
    crowded = crowded || c.staying_ps > c.passing_ps;
    return c.in_ring();
  };
  const double ps = std::max(waiting_ps, collectives::longest_chain(s, of.phases, of.group, cost, chain_));
  return crowded ? std::max(ps, collectives::run_rounds(s, of.phases) * full_round(run, piece).ps()) : ps;
}

}  // namespace busbar::lowering
