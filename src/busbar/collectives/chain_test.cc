#include "busbar/collectives/chain.h"

#include <chrono>
#include <cmath>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/moves.h"

namespace busbar {
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

double chain_of(const Schedule& s, const std::function<SendCost(std::uint32_t, std::uint32_t)>& cost) {
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
  std::vector<SendCost> edges(n);
  for (SendCost& e : edges) {
    // few values, many values, decades apart, or rare outliers
    const auto draw = [&]() -> double {
      if (wildness == 0) return 100.0 * static_cast<double>(1 + random.below(3));
      if (wildness == 1) return 1000.0 * random.uniform();
      if (wildness == 2) return std::pow(10.0, 8.0 * random.uniform());
      return random.below(5) == 0 ? 1e6 * random.uniform() : 10.0;
    };
    e.transfer_ps = draw();
    e.latency_ps = random.below(4) == 0 ? 0.0 : draw();
  }
  const double exact = grid_end(edges, rounds);
  RC_ASSERT(std::abs(longest(edges, rounds) - exact) <= 1e-11 * exact);
}

// All-reduce of 2^30 bytes over N GPUs on one switch, 450 GB/s and 1 us from GPU to GPU, one edge at 225 GB/s.
TEST(Ring, OneHalfRateEdgeCostsTheLongestPathAndNotTheNaiveSum) {
  struct Row { std::uint32_t n; double ms; };
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

double milliseconds_for(const std::vector<SendCost>& edges, std::uint64_t rounds) {
  RingPath path;
  for (const SendCost& e : edges) path.add(e);
  const auto t0 = std::chrono::steady_clock::now();
  EXPECT_GT(path.longest(rounds), 0);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count();
}

}  // namespace
}  // namespace busbar
