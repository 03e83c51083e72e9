#include "busbar/survive/goodput.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace busbar::survive {
namespace {

/// Plays the process itself: useful seconds over all seconds.
Goodput played(const CheckpointTerms& t, double interval, unsigned seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> next(1 / t.mtti_s);
  constexpr int kIntervals = 200'000;
  double useful = 0, saving = 0, restarting = 0, again = 0, left = next(random);
  for (int i = 0; i < kIntervals;) {
    if (left >= interval + t.save_s) {
      left -= interval + t.save_s;
      useful += interval, saving += t.save_s, ++i;
      continue;
    }
    again += left;
    for (left = next(random); left < t.restart_s; left = next(random)) restarting += left;
    restarting += t.restart_s, left -= t.restart_s;
  }
  const double all = useful + saving + restarting + again;
  return {useful / all, saving / all, restarting / all, again / all};
}

TEST(Goodput, SharesAreThoseOfThePlayedProcess) {
  const CheckpointTerms cases[] = {{11124, 57, 387, 0}, {828, 20, 300, 0}, {828, 120, 900, 0}, {1e6, 3, 300, 0}};
  unsigned seed = 0;
  for (const CheckpointTerms& t : cases) {
    const double interval = daly_interval(t);
    const Goodput g = goodput(t, interval), p = played(t, interval, ++seed);
    EXPECT_NEAR(g.useful, p.useful, 0.005) << seed;
    EXPECT_NEAR(g.checkpoint, p.checkpoint, 0.005) << seed;
    EXPECT_NEAR(g.restart, p.restart, 0.005) << seed;
    EXPECT_NEAR(g.rework, p.rework, 0.005) << seed;
    EXPECT_NEAR(g.useful + g.checkpoint + g.restart + g.rework, 1, 1e-12);
  }
}

TEST(Goodput, NoOtherIntervalIsMuchBetterThanDalys) {
  for (const double save : {0.1, 3.0, 60.0, 600.0}) {
    for (const double mtti : {600.0, 3600.0, 86400.0}) {
      const CheckpointTerms t{mtti, save, 300, 0};
      double best = 0;
      for (double tau = save / 10; tau < 100 * mtti; tau *= 1.02) best = std::max(best, goodput(t, tau).useful);
      const double share = goodput(t, daly_interval(t)).useful;
      EXPECT_GT(share, best * (save < 2 * mtti ? 0.99 : 0.8)) << save << ' ' << mtti;
      EXPECT_LT(share, best * 1.001);
    }
  }
}

TEST(Goodput, FirstOrderTableOfTheField) {  // Young: MTTI 3.09 h, checkpoints of 20 s
  const CheckpointTerms t{3.09 * 3600, 20, 300, 0};
  EXPECT_NEAR(young_interval(t), 667, 1);
  EXPECT_NEAR(1 - goodput(t, young_interval(t)).useful, 0.087, 0.004);
}

TEST(Goodput, ABackgroundWriteLimitsTheInterval) {
  CheckpointTerms t{3600, 0.01, 300, 45};
  EXPECT_EQ(daly_interval(t), 45);
  EXPECT_EQ(young_interval(t), 45);
}

TEST(Goodput, CheckpointsComeAfterWholeSteps) {
  EXPECT_DOUBLE_EQ(whole_steps(104, 10, 0), 100);
  EXPECT_DOUBLE_EQ(whole_steps(0.1, 10, 0), 10);
  EXPECT_DOUBLE_EQ(whole_steps(104, 10, 111), 120);
}

TEST(Spares, CoverTheShareOfTimeAskedFor) {
  const auto chance_of_more = [](double mean, std::uint64_t n) {  // by the definition
    double sum = 0;
    for (std::uint64_t k = 0; k <= n; ++k)
      sum += std::exp(static_cast<double>(k) * std::log(mean) - mean - std::lgamma(static_cast<double>(k) + 1));
    return 1 - sum;
  };
  for (const double mean : {0.01, 0.5, 3.0, 20.0, 400.0, 2000.0}) {
    const std::uint64_t n = spares_for(mean, 0.99);
    EXPECT_LT(chance_of_more(mean, n), 0.0107) << mean;
    if (n > 0) EXPECT_GT(chance_of_more(mean, n - 1), 0.0093) << mean;
  }
  EXPECT_EQ(spares_for(0, 0.99), 0u);
}

TEST(Spares, ChanceOfAnySlowServer) {  // 0.5 % of servers: 47 % of jobs with 128 have one
  EXPECT_NEAR(chance_of_any(0.005, 128), 0.474, 0.001);
  EXPECT_NEAR(chance_of_any(0.005, 2048), 0.99997, 0.00001);
  EXPECT_EQ(chance_of_any(0, 2048), 0);
}

}  // namespace
}  // namespace busbar::survive
