#include "busbar/lowering/internal/ring_times.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/collectives/ring_path.h"
#include "busbar/lowering/internal/online_rates.h"
#include "busbar/solve/transfer_clock.h"

namespace busbar {
namespace {

constexpr std::size_t kMostSends = 16'384;  // some fifteen milliseconds

/// Which piece each edge of the rings sends. Pieces of even and odd rounds are two items of the clock, because one may
/// start in the picosecond in which the other ends.
class Pieces {
 public:
  explicit Pieces(std::span<const RingRun> rings) {
    for (const RingRun& r : rings) {
      const auto n = static_cast<std::uint32_t>(r.run->connections.size()), base = edges();
      r.run->followed.left_ps.assign(std::size_t{n} * r.rounds, 0);
      for (std::uint32_t i = 0; i < n; ++i)
        edges_.push_back({&r.run->connections[i], &r.run->followed, r.rounds, base + (i + 1) % n,
                          r.run->followed.left_ps.data() + std::size_t{i} * r.rounds,
                          std::vector<std::int64_t>(r.rounds, -1)});
    }
  }
  std::uint32_t edges() const { return static_cast<std::uint32_t>(edges_.size()); }
  std::uint32_t items() const { return 2 * edges(); }
  const Connection& connection(std::uint32_t item) const { return *edges_[item / 2].connection; }
  double bytes(std::uint32_t item) const { return connection(item).bytes / edges_[item / 2].rounds; }

  /// Calls start(item, ps) for what can be sent first.
  template <typename Start>
  void begin(Start start) {
    for (std::uint32_t e = 0; e < edges(); ++e) {
      edges_[e].there_ps[0] = 0;
      start(2 * e, std::int64_t{0});
    }
  }
  /// The item's piece has left.
  template <typename Start>
  void end(std::uint32_t item, std::int64_t now, Start start) {
    const std::uint32_t e = item / 2;
    Edge& edge = edges_[e];
    const std::uint32_t round = edge.sent++;
    edge.left_ps[round] = now;
    const std::int64_t there = now + std::llround(edge.connection->latency_ps);
    edge.ring->end_ps = std::max(edge.ring->end_ps, static_cast<double>(there));
    if (round + 1 == edge.rounds) return;
    edges_[edge.next].there_ps[round + 1] = there;
    offer(edge.next, round + 1, now, start);
    offer(e, round + 1, now, start);
  }

 private:
  struct Edge {
    const Connection* connection;
    FollowedRing* ring;
    std::uint32_t rounds, next;           ///< next: the edge that passes on what this one brings
    std::int64_t* left_ps;                ///< per round
    std::vector<std::int64_t> there_ps;   ///< per round: when its piece is there to be sent; -1: not known yet
    std::uint32_t sent = 0, offered = 1;  ///< rounds
  };
  template <typename Start>
  void offer(std::uint32_t e, std::uint32_t round, std::int64_t now, Start start) {
    Edge& edge = edges_[e];
    if (edge.offered != round || edge.sent != round || edge.there_ps[round] < 0) return;
    ++edge.offered;
    start(2 * e + round % 2, std::max(now, edge.there_ps[round]));
  }
  std::vector<Edge> edges_;
};

bool same_way(const RoutedRun& a, const RoutedRun& b) {
  const auto share = [](const CapacityShare& x, const CapacityShare& y) { return x.on == y.on && x.share == y.share; };
  const auto edge = [](const Connection& x, const Connection& y) {
    return x.end == y.end && x.bytes == y.bytes && x.latency_ps == y.latency_ps;
  };
  return std::equal(a.path.begin(), a.path.end(), b.path.begin(), b.path.end(), share) &&
         std::equal(a.connections.begin(), a.connections.end(), b.connections.begin(), b.connections.end(), edge);
}

}  // namespace

/// One ring of each set of equal ones, which stay together. `as`: which of these each ring is like.
std::vector<RingRun> RingTimes::unequal(std::span<const RingRun> rings, std::vector<std::size_t>& as) const {
  std::vector<RingRun> out;
  std::multimap<std::pair<std::size_t, CapacityId>, std::size_t> known;  // by what is compared most quickly
  as.resize(rings.size());
  for (std::size_t i = 0; i < rings.size(); ++i) {
    const RoutedRun& run = *rings[i].run;
    const std::pair key{run.path.size(), run.path.empty() ? CapacityId() : run.path[run.path.size() / 2].on};
    const auto [first, last] = known.equal_range(key);
    const auto it = std::find_if(first, last, [&](const auto& k) { return same_way(*out[k.second].run, run); });
    as[i] = it != last ? it->second : out.size();
    if (it != last) {
      ++out[as[i]].run->equal;
      continue;
    }
    known.emplace(key, out.size());
    out.push_back(rings[i]);
  }
  for (std::size_t i = 0; i < rings.size(); ++i) rings[i].run->equal = out[as[i]].run->equal;
  return out;
}

/// Whether it matters which pieces meet. It does not if no ring meets another one, nor if a ring takes as long when its
/// pieces meet none on their way as when they always meet all.
bool RingTimes::open_question(std::span<const RingRun> rings, const PerCapacity<double>& loads) {
  constexpr double kEnough = 1e-2;  // of the time
  for (const RingRun& r : rings) {
    for (const auto& [on, bytes] : r.run->loads) own_[on] = bytes * r.run->equal;
    RingPath least, most;
    for (const Connection& c : r.run->connections) {
      double own_ps = 0, all_ps = 0;
      for (std::uint32_t k = c.begin; k < c.end; ++k) {
        const CapacityId on = r.run->path[k].on;
        own_ps = std::max(own_ps, own_[on] / table_.rate(on) / r.rounds);
        all_ps = std::max(all_ps, loads[on] / table_.rate(on) / r.rounds);
      }
      least.add({c.latency_ps + own_ps - all_ps, all_ps});
      most.add({c.latency_ps, all_ps});
    }
    if (most.longest(r.rounds) > (1 + kEnough) * least.longest(r.rounds)) return true;
  }
  return false;
}

/// All that follow() reads.
std::vector<double> RingTimes::inputs_of(std::span<const RingRun> rings, const PlannedCall& plan) const {
  std::vector<double> out{plan.lanes.cap, plan.sent.straight};
  for (const RingRun& r : rings) {
    out.insert(out.end(), {static_cast<double>(r.rounds), static_cast<double>(r.run->equal)});
    for (const Connection& c : r.run->connections) {
      out.insert(out.end(), {c.latency_ps, c.bytes});
      for (std::uint32_t k = c.begin; k < c.end; ++k) {
        const auto& [on, share] = r.run->path[k];
        out.insert(out.end(), {static_cast<double>(table_.counts().place(on)), share, table_.rate(on)});
      }
    }
  }
  return out;
}

bool RingTimes::send(std::span<const RingRun> rings, const PerCapacity<double>& loads, const PlannedCall& plan) {
  if (rings.size() < 2) return false;
  std::vector<std::size_t> as;
  const std::vector<RingRun> all = unequal(rings, as);
  std::size_t sends = 0;
  for (const RingRun& r : all) sends += r.run->connections.size() * r.rounds;
  if (!plan.follows_rings || !open_question(all, loads)) return false;
  if (sends > kMostSends) return true;
  if (std::vector<double> inputs = inputs_of(all, plan); inputs != last_inputs_) {
    follow(all, plan);
    last_inputs_ = std::move(inputs);
    last_.clear();
    for (const RingRun& r : all) last_.push_back(r.run->followed);
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].run->followed = last_[i];
  for (std::size_t i = 0; i < rings.size(); ++i)
    if (!rings[i].run->followed.known()) rings[i].run->followed = all[as[i]].run->followed;
  return false;
}

void RingTimes::follow(std::span<const RingRun> rings, const PlannedCall& plan) {
  std::vector<double> capacity;
  for (const RingRun& r : rings)
    for (const CapacityShare& l : r.run->path)
      if (number_[l.on] == kNone32) {
        number_[l.on] = static_cast<std::uint32_t>(capacity.size());
        capacity.push_back(table_.rate(l.on));
      }
  OnlineRates rates{OnlineMaxMin(std::move(capacity), shortcuts_)};
  std::map<std::uint32_t, double> weight_on;
  std::vector<std::uint32_t> on;
  std::vector<double> weights;
  for (const RingRun& r : rings)
    for (const Connection& c : r.run->connections) {
      weight_on.clear(), on.clear(), weights.clear();
      for (std::uint32_t k = c.begin; k < c.end; ++k)
        weight_on[number_[r.run->path[k].on]] += r.run->path[k].share * plan.sent.of(c) * r.run->equal;
      for (const auto& [link, w] : weight_on)
        if (w > 0) on.push_back(link), weights.push_back(w);
      for (int parity = 0; parity < 2; ++parity)
        rates.solver.add_flow(on, weights, plan.lanes.cap > 0 ? plan.lanes.cap : INFINITY);
    }
  Pieces pieces(rings);
  TransferClock clock(rates, pieces.items());
  const auto start = [&](std::uint32_t item, std::int64_t ps) { clock.start_at(item, ps); };
  pieces.begin(start);
  clock.run(
      [&](std::uint32_t item, std::int64_t now) {
        if (pieces.bytes(item) == 0 || pieces.connection(item).begin == pieces.connection(item).end)
          return clock.end_at(item, now);
        clock.send(item, pieces.bytes(item), now);
      },
      [&](std::uint32_t item, std::int64_t now) { pieces.end(item, now, start); });
  for (const RingRun& r : rings)
    for (const CapacityShare& l : r.run->path) number_[l.on] = kNone32;
}

}  // namespace busbar
