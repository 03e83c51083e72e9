#include "busbar/collectives/chain.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <map>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/every_schedule.h"
#include "busbar/collectives/moves.h"

namespace busbar::collectives {
namespace {

/// The dependency grid itself: send j of position p waits for arrival j - 1 from p - 1 and for its own send j - 1.
double grid_end(const std::vector<SendCost>& edges, std::uint64_t rounds) {
  const std::size_t n = edges.size();
  std::vector<double> arrived(n, 0.0), sent(n, 0.0), next(n, 0.0);  // arrived[p]: at p + 1
  for (std::uint64_t j = 0; j < rounds; ++j) {
    for (std::size_t p = 0; p < n; ++p) {
      const double start = std::max(j == 0 ? 0.0 : arrived[(p + n - 1) % n], sent[p]);
      sent[p] = start + edges[p].transfer_ps;
      next[p] = sent[p] + edges[p].latency_ps;
    }
    arrived.swap(next);
  }
  return *std::max_element(arrived.begin(), arrived.end());
}

double longest(const std::vector<SendCost>& edges, std::uint64_t rounds) {
  RingPath path;
  for (const SendCost& e : edges) path.add(e);
  return path.longest(rounds);
}

using CostOf = std::function<SendCost(std::uint32_t, std::uint32_t)>;

double chain_of(const Schedule& s, const CostOf& cost) {
  ChainScratch scratch;
  double sum = 0;
  for (const PhaseRun run : phase_runs(s)) sum += longest_chain(s, run, 0, cost, scratch);
  return sum;
}

RC_GTEST_PROP(RingPath, IsTheEndOfTheDependencyGrid, ()) {
  const auto n = *rc::gen::inRange<std::uint32_t>(2, 14);
  const auto rounds = *rc::gen::inRange<std::uint32_t>(1, 3 * n);
  const auto wildness = *rc::gen::inRange(0, 4);
  RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "edges");
  const auto draw = [&]() -> double {  // few values, many values, decades apart, or rare outliers
    if (wildness == 0) return 100.0 * static_cast<double>(1 + random.below(3));
    if (wildness == 1) return 1000.0 * random.uniform();
    if (wildness == 2) return std::pow(10.0, 8.0 * random.uniform());
    return random.below(5) == 0 ? 1e6 * random.uniform() : 10.0;
  };
  std::vector<SendCost> edges(n);
  for (int repeat = 0; repeat < 50; ++repeat) {
    for (SendCost& e : edges) {
      e.transfer_ps = draw();
      e.latency_ps = random.below(4) == 0 ? 0.0 : draw();
      if (random.below(4) == 0) e.latency_ps = -random.uniform() * e.transfer_ps;
    }
    const double exact = grid_end(edges, rounds);
    RingPath path;
    for (const SendCost& e : edges) path.add(e);
    RC_ASSERT(std::abs(path.longest(rounds) - exact) <= 1e-11 * exact);
    const RingWindow w = path.window();  // the path along the window takes as long
    double sum = 0, slowest = 0;
    for (std::uint64_t i = w.first; i < w.first + w.length; ++i) {
      sum += edges[i % n].latency_ps + edges[i % n].transfer_ps;
      slowest = std::max(slowest, edges[i % n].transfer_ps);
    }
    RC_ASSERT(w.length >= 1 && w.length <= rounds);
    RC_ASSERT(std::abs(sum + static_cast<double>(rounds - w.length) * slowest - exact) <= 1e-10 * exact);
  }
}

// All-reduce of 2^30 bytes over N GPUs on one switch, 450 GB/s and 1 us from GPU to GPU, one edge at 225 GB/s.
TEST(Ring, OneHalfRateEdgeCostsTheLongestPathAndNotTheNaiveSum) {
  struct Row {
    std::uint32_t n;
    double ms;
  };
  for (const Row row : {Row{512, 9.53}, Row{4096, 12.96}, Row{65536, 135.84}}) {
    const Schedule s = build_ring(Collective::kAllReduce, row.n).value();
    const double bytes = 0x1p30 / row.n;
    const double ps = chain_of(s, [&](std::uint32_t src, std::uint32_t) {
      return SendCost{1e6, bytes / (src == 7 ? 225e9 : 450e9) * 1e12};
    });
    EXPECT_NEAR(ps * 1e-9, row.ms, 0.006) << row.n;
  }
}

TEST(Ring, EqualEdgesTakeRoundsTimesOneSend) {
  const Schedule s = build_ring(Collective::kAllReduce, 9).value();
  EXPECT_DOUBLE_EQ(chain_of(s, [](auto, auto) { return SendCost{5, 11}; }), 16 * 16.0);
  const Schedule g = build_ring(Collective::kAllGather, 9).value();
  EXPECT_DOUBLE_EQ(chain_of(g, [](auto, auto) { return SendCost{5, 11}; }), 8 * 16.0);
}

/// The last arrival of a run, from its moves: a send waits for its edge and for everything that its actor sent and
/// received in earlier rounds.
double end_by_moves(const Schedule& s, PhaseRun run, const CostOf& cost) {
  std::map<std::uint32_t, double> ready;                                // actor
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> edge_free;  // (src, dst)
  double end = 0;
  const double span = s.phases[run.begin].span;
  for (std::uint32_t i = run.begin; i < run.end; ++i)
    for (std::uint32_t r = 0; r < rounds(s, s.phases[i]); ++r) {
      auto next = ready;
      for_each_move(s, s.phases[i], r, [&](const Move& m) {
        const SendCost c = cost(m.src, m.dst);
        double& edge = edge_free[{m.src, m.dst}];
        edge = std::max(edge, ready[m.src]) + c.transfer_ps * m.chunk_count / span;
        next[m.src] = std::max(next[m.src], edge);
        next[m.dst] = std::max(next[m.dst], edge + c.latency_ps);
        end = std::max(end, edge + c.latency_ps);
      });
      ready = next;
    }
  return end;
}

TEST(Chain, EndsWhenTheLastMoveArrives) {
  RandomStream seeds(3, "chain");
  ChainScratch scratch;
  const auto check = [&](const BuiltCase& c) {
    if (c.schedule.ranks > 17) return;
    const std::uint64_t seed = seeds.next();
    const CostOf cost = [&](std::uint32_t src, std::uint32_t dst) {
      RandomStream r(seed + src * 1000 + dst, "edge");
      return SendCost{r.below(3) == 0 ? 0.0 : 1000.0 * r.uniform(), std::pow(10.0, 4.0 * r.uniform())};
    };
    for (const PhaseRun run : phase_runs(c.schedule)) {
      const GroupFamily& family = c.schedule.families[c.schedule.phases[run.begin].family];
      double slowest = 0;
      for (std::uint32_t g = 0; g < family.groups(); ++g)
        slowest = std::max(slowest, longest_chain(c.schedule, run, g, cost, scratch));
      const double exact = end_by_moves(c.schedule, run, cost);
      ASSERT_NEAR(slowest, exact, 1e-11 * exact) << c.text() << " phases " << run.begin << " to " << run.end;
    }
  };
  for_every_schedule(check);
  for_every_variant(check);
}

TEST(Chain, JoinsTheTwoHalvesOfARingAllReduceOnly) {
  EXPECT_EQ(phase_runs(*build_ring(Collective::kAllReduce, 5)), (std::vector<PhaseRun>{{0, 2}}));
  const Schedule t = build_tree(Collective::kAllReduce, 5).value();
  EXPECT_EQ(phase_runs(t), (std::vector<PhaseRun>{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  const Schedule h = build_hierarchical(Collective::kAllReduce, 3, 2).value();
  EXPECT_EQ(phase_runs(h), (std::vector<PhaseRun>{{0, 1}, {1, 3}, {3, 4}}));
  EXPECT_EQ(run_rounds(h, {1, 3}), 4u);
  for (const auto& change : std::vector<std::function<void(Phase&)>>{
           [](Phase& p) { p.family = 1; }, [](Phase& p) { p.span = 2; }, [](Phase& p) { p.chunk_base = 5; },
           [](Phase& p) { p.channel = 1; }, [](Phase& p) { p.pattern = Pattern::kRingReduceScatter; }}) {
    Schedule other = build_ring(Collective::kAllReduce, 5).value();
    other.families.push_back(one_group(5));
    change(other.phases[1]);
    EXPECT_EQ(phase_runs(other).size(), 2u);
  }
}

TEST(Chain, IsNeverBelowTheSimpleBound) {  // DESIGN 4.3: the worst R consecutive edges, or R sends on the slowest
  RandomStream random(5, "bound");
  for (int i = 0; i < 500; ++i) {
    std::vector<SendCost> edges(2 + random.below(20));
    for (SendCost& e : edges) e = {1e3 * random.uniform(), 1e3 * random.uniform()};
    const std::size_t n = edges.size(), rounds = 1 + random.below(2 * n);
    double bound = 0;
    for (std::size_t e = 0; e < n; ++e) {
      double sum = 0;
      for (std::size_t k = 0; k < rounds; ++k) sum += edges[(e + k) % n].latency_ps + edges[(e + k) % n].transfer_ps;
      bound = std::max({bound, sum, static_cast<double>(rounds) * edges[e].transfer_ps});
    }
    EXPECT_GE(longest(edges, rounds), bound * (1 - 1e-11));
  }
}

/// 65,536 edges, all-reduce. Prints the time and returns the number of passes.
std::uint32_t passes_for(const char* name, const std::function<SendCost(std::uint32_t, RandomStream&)>& edge) {
  constexpr std::uint32_t kEdges = 65'536;
  RandomStream random(7, name);
  RingPath path;
  for (std::uint32_t i = 0; i < kEdges; ++i) path.add(edge(i, random));
  for (const std::uint32_t rounds : {kEdges - 1, 2 * (kEdges - 1)}) {
    const auto t0 = std::chrono::steady_clock::now();
    EXPECT_GT(path.longest(rounds), 0);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - t0;
    fmt::print("{:34} {:6} rounds: {:7.2f} ms, {} passes\n", name, rounds, took.count(), path.passes());
  }
  return path.passes();
}

TEST(Chain, OfLargeRingsTakesFewPasses) {
  EXPECT_EQ(passes_for("all equal", [](auto, auto&) { return SendCost{1e6, 36e3}; }), 0u);
  EXPECT_LE(passes_for("one slow", [](auto i, auto&) { return SendCost{1e6, i == 9 ? 72e3 : 36e3}; }), 2u);
  EXPECT_LE(passes_for("nodes of 8",
                       [](auto i, auto&) {
                         return i % 8 == 7 ? SendCost{8e6, 330e3} : SendCost{1e6, 36e3};
                       }),
            2u);
  for (const double piece_ps : {36e3, 1e6, 5e6, 1e9})  // latency dominates, or the wire
    EXPECT_LE(passes_for("1 % degraded",
                         [&](auto, RandomStream& r) {
                           return SendCost{1e6, piece_ps * (r.below(100) == 0 ? 1 + 9 * r.uniform() : 1)};
                         }),
              16u);
  EXPECT_LE(passes_for("nodes of 8, 1 % degraded",
                       [](auto i, RandomStream& r) {
                         const double factor = r.below(100) == 0 ? 1 + 9 * r.uniform() : 1;
                         return i % 8 == 7 ? SendCost{8e6, 330e3 * factor} : SendCost{1e6, 36e3 * factor};
                       }),
            16u);
  EXPECT_LE(passes_for("every edge its own rate",
                       [](auto, RandomStream& r) {
                         return SendCost{1e6, 1e6 * (1 + r.uniform())};
                       }),
            32u);
  // The worst case found: all rates differ by little, and one latency pulls the path away from the slowest edges.
  EXPECT_LE(passes_for("every edge its own, one far away",
                       [](auto i, RandomStream& r) {
                         return SendCost{i == 0 ? 1e12 : 0, 1e6 * (1 + r.uniform())};
                       }),
            400u);
}

}  // namespace
}  // namespace busbar::collectives
