#include "busbar/lowering/internal/ring_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "busbar/collectives/ring_path.h"
#include "busbar/lowering/internal/online_rates.h"
#include "busbar/lowering/internal/send_classes.h"
#include "busbar/solve/transfer_clock.h"

namespace busbar::lowering {
namespace {

constexpr std::size_t kMostSends = 16'384;  // some fifteen milliseconds
constexpr std::size_t kMostKept = 1 << 21;  // 16 MiB

/// Which piece each class of edges sends. Pieces of even and odd rounds are two items of the clock, because one may
/// start in the picosecond in which the other ends.
class Pieces {
 public:
  Pieces(std::span<const SendOver> edges, const SendClasses& classes) {
    for (const std::uint32_t first : classes.first) {
      const SendOver& e = edges[first];
      edges_.push_back({e.bytes / e.rounds, std::llround(e.latency_ps), e.rounds, 0,
                        std::vector<std::int64_t>(e.rounds), std::vector<std::int64_t>(e.rounds, -1)});
    }
    for (std::size_t e = 0; e < edges.size(); ++e) edges_[classes.of[edges[e].previous]].next = classes.of[e];
  }
  std::uint32_t edges() const { return static_cast<std::uint32_t>(edges_.size()); }
  std::uint32_t items() const { return 2 * edges(); }
  double bytes(std::uint32_t item) const { return edges_[item / 2].bytes; }
  /// Per round, when the piece has left.
  const std::vector<std::int64_t>& left_ps(std::uint32_t edge) const { return edges_[edge].left_ps; }
  /// When the last piece has arrived.
  std::int64_t end_ps(std::uint32_t edge) const { return edges_[edge].left_ps.back() + edges_[edge].latency_ps; }

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
    if (round + 1 == edge.rounds) return;
    edges_[edge.next].there_ps[round + 1] = now + edge.latency_ps;
    offer(edge.next, round + 1, now, start);
    offer(e, round + 1, now, start);
  }

 private:
  struct Edge {
    double bytes;  ///< of a piece
    std::int64_t latency_ps;
    std::uint32_t rounds, next;           ///< next: the class that passes on what this one brings
    std::vector<std::int64_t> left_ps;    ///< per round
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

/// All that the times of `edges` depend on but their bytes, of which it says only which are equal; `bytes` gets one of
/// each.
std::vector<double> structure_of(std::span<const SendOver> edges, std::span<const double> capacity, double cap,
                                 std::vector<double>& bytes) {
  std::vector<double> out{cap, static_cast<double>(capacity.size())};
  out.insert(out.end(), capacity.begin(), capacity.end());
  for (const SendOver& e : edges) {
    const auto equal = std::find(bytes.begin(), bytes.end(), e.bytes);
    out.insert(out.end(), {e.latency_ps, static_cast<double>(e.rounds), static_cast<double>(e.previous),
                           static_cast<double>(equal - bytes.begin()), static_cast<double>(e.links.size())});
    if (equal == bytes.end()) bytes.push_back(e.bytes);
    out.insert(out.end(), e.links.begin(), e.links.end());
    out.insert(out.end(), e.weights.begin(), e.weights.end());
  }
  return out;
}

bool same_way(const RoutedRun& a, const RoutedRun& b) {
  const auto share = [](const routing::CapacityShare& x, const routing::CapacityShare& y) {
    return x.on == y.on && x.share == y.share;
  };
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
  std::multimap<std::pair<std::size_t, routing::CapacityId>, std::size_t> known;  // by what is compared most quickly
  as.resize(rings.size());
  for (std::size_t i = 0; i < rings.size(); ++i) {
    const RoutedRun& run = *rings[i].run;
    const std::pair key{run.path.size(), run.path.empty() ? routing::CapacityId() : run.path[run.path.size() / 2].on};
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
bool RingTimes::open_question(std::span<const RingRun> rings, const RunLoads& loads) {
  constexpr double kEnough = 1e-2;  // of the time
  for (const RingRun& r : rings) {
    for (const auto& [on, bytes] : r.run->loads) own_[on] = bytes * r.run->equal;
    collectives::RingPath least, most;
    for (const Connection& c : r.run->connections) {
      double own_ps = 0, all_ps = 0;
      for (std::uint32_t k = c.begin; k < c.end; ++k) {
        const routing::CapacityId on = r.run->path[k].on;
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

bool RingTimes::send(std::span<const RingRun> rings, const RunLoads& loads, const PlannedCall& plan) {
  if (rings.size() < 2) return false;
  std::vector<std::size_t> as;
  const std::vector<RingRun> all = unequal(rings, as);
  std::size_t sends = 0;
  for (const RingRun& r : all) sends += r.run->connections.size() * r.rounds;
  if (!plan.follows_rings || !open_question(all, loads)) return false;
  if (sends > kMostSends) return true;
  const std::vector<FollowedRing>& followed = follow(all, plan);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].run->followed = followed[i];
  for (std::size_t i = 0; i < rings.size(); ++i)
    if (!rings[i].run->followed.known()) rings[i].run->followed = all[as[i]].run->followed;
  return false;
}

/// Per ring. Rings whose edges and links are the same but for their places on the machine are followed once, and rings
/// that differ in nothing but bytes have the same classes. Valid until the next call.
const std::vector<FollowedRing>& RingTimes::follow(std::span<const RingRun> rings, const PlannedCall& plan) {
  if (kept_ > kMostKept) known_.clear(), kept_ = 0;
  std::vector<double> capacity, bytes;
  const std::vector<SendOver> edges = sends_of(rings, plan, capacity);
  std::vector<double> structure = structure_of(edges, capacity, plan.lanes.cap, bytes);
  const auto [entry, fresh] = known_.try_emplace(std::move(structure));
  Known& known = entry->second;
  if (fresh) known.classes = send_classes(edges, capacity, shortcuts_.has(Shortcut::kSendsAlike));
  if (known.classes.first.size() < edges.size()) shortcuts_.take(Shortcut::kSendsAlike);
  const auto [times, unknown] = known.followed.try_emplace(std::move(bytes));
  if (unknown) times->second = run(edges, known.classes, plan.lanes.cap);
  if (fresh) kept_ += 2 * entry->first.size();
  if (unknown) kept_ += edges.size() * edges.front().rounds;
  return times->second;
}

std::vector<FollowedRing> RingTimes::run(std::span<const SendOver> edges, const SendClasses& classes,
                                         double cap) const {
  OnlineRates rates{solve::OnlineMaxMin(classes.capacity, shortcuts_)};
  for (std::size_t c = 0; c < classes.first.size(); ++c)
    for (int parity = 0; parity < 2; ++parity)
      rates.solver.add_flow(classes.links[c], classes.weights[c], cap > 0 ? cap : INFINITY);
  Pieces pieces(edges, classes);
  solve::TransferClock clock(rates, pieces.items());
  const auto start = [&](std::uint32_t item, std::int64_t ps) { clock.start_at(item, ps); };
  pieces.begin(start);
  clock.run(
      [&](std::uint32_t item, std::int64_t now) {
        if (pieces.bytes(item) == 0 || edges[classes.first[item / 2]].links.empty()) return clock.end_at(item, now);
        clock.send(item, pieces.bytes(item), now);
      },
      [&](std::uint32_t item, std::int64_t now) { pieces.end(item, now, start); });

  std::vector<FollowedRing> out;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (edges[e].previous >= e) out.emplace_back();  // the first edge of a ring passes on what its last one brings
    const std::vector<std::int64_t>& left_ps = pieces.left_ps(classes.of[e]);
    FollowedRing& ring = out.back();
    ring.left_ps.insert(ring.left_ps.end(), left_ps.begin(), left_ps.end());
    ring.end_ps = std::max(ring.end_ps, static_cast<double>(pieces.end_ps(classes.of[e])));
  }
  return out;
}

/// Edges of one ring after the other; links are numbered as they occur, `capacity` is that of each.
std::vector<SendOver> RingTimes::sends_of(std::span<const RingRun> rings, const PlannedCall& plan,
                                          std::vector<double>& capacity) {
  std::vector<SendOver> out;
  std::vector<double> weight_on;   // per number; zero between edges
  std::vector<std::uint32_t> met;  // numbers with weight
  for (const RingRun& r : rings) {
    const auto base = static_cast<std::uint32_t>(out.size());
    const auto n = static_cast<std::uint32_t>(r.run->connections.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      const Connection& c = r.run->connections[i];
      SendOver& edge = out.emplace_back();
      edge = {c.latency_ps, c.bytes, r.rounds, base + (i + n - 1) % n, {}, {}};
      for (std::uint32_t k = c.begin; k < c.end; ++k) {
        const auto& [on, share] = r.run->path[k];
        if (number_[on] == kNone32) {
          number_[on] = static_cast<std::uint32_t>(capacity.size());
          capacity.push_back(table_.rate(on));
          weight_on.push_back(0);
        }
        const double weight = share * plan.sent.of(c) * r.run->equal;
        if (weight > 0 && weight_on[number_[on]] == 0) met.push_back(number_[on]);
        weight_on[number_[on]] += weight;
      }
      std::ranges::sort(met);
      edge.links = met;
      for (const std::uint32_t link : met) edge.weights.push_back(std::exchange(weight_on[link], 0));
      met.clear();
    }
  }
  for (const RingRun& r : rings)
    for (const routing::CapacityShare& l : r.run->path) number_[l.on] = kNone32;
  return out;
}

}  // namespace busbar::lowering
