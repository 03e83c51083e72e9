#include "busbar/solve/transfer_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "busbar/base/random.h"
#include "busbar/solve/max_min.h"
#include "busbar/solve/online_max_min.h"

namespace busbar::solve {
namespace {

/// Transfers that share one link of 1 byte per ps equally.
struct OneLink {
  std::vector<std::uint32_t> open_now{}, changed_now{};
  std::vector<std::int64_t> settled{};
  void open(std::uint32_t f) { open_now.push_back(f); }
  void close(std::uint32_t f) { std::erase(open_now, f); }
  void settle(std::int64_t now) {
    settled.push_back(now);
    changed_now = open_now;
  }
  std::span<const std::uint32_t> changed() const { return changed_now; }
  double rate(std::uint32_t) const { return 1.0 / static_cast<double>(open_now.size()); }
};

// 100 bytes from 0 on, 300 from 50 on, and item 2 sends nothing: 50 bytes alone, then half each until 150, then alone.
TEST(TransferClock, EndsTransfersWhenTheirBytesHaveLeftAtTheRatesMeanwhile) {
  OneLink link;
  TransferClock clock(link, 3);
  std::string log;
  clock.start_at(0, 0);
  clock.start_at(1, 50);
  clock.start_at(2, 150);
  const std::uint64_t times = clock.run(
      [&](std::uint32_t item, std::int64_t now) {
        log += "start " + std::to_string(item) + " at " + std::to_string(now) + ", ";
        EXPECT_FALSE(clock.sends(item));
        if (item == 2) return clock.end_at(item, now + 1);
        clock.send(item, item == 0 ? 100 : 300, now);
        EXPECT_TRUE(clock.sends(item));
      },
      [&](std::uint32_t item, std::int64_t now) {
        log += "end " + std::to_string(item) + " at " + std::to_string(now) + ", ";
        EXPECT_EQ(clock.sends(item), item != 2);
      });
  EXPECT_EQ(log, "start 0 at 0, start 1 at 50, end 0 at 150, start 2 at 150, end 2 at 151, end 1 at 400, ");
  EXPECT_EQ(times, 5u);
  EXPECT_EQ(link.settled, (std::vector<std::int64_t>{0, 50, 150, 151, 400}));
  EXPECT_EQ(clock.rate_changes(), 1u + 2 + 1 + 1);
  for (const std::uint32_t item : {0u, 1u, 2u}) EXPECT_FALSE(clock.sends(item));
}

TEST(TransferClock, TakesAllOfOnePicosecondInOrderOfNumberBeforeItSettles) {
  OneLink link;
  TransferClock clock(link, 4);
  for (const std::uint32_t item : {3u, 1u, 2u, 0u}) clock.start_at(item, 7);
  std::vector<std::uint32_t> started, ended;
  clock.run([&](std::uint32_t item, std::int64_t now) { started.push_back(item), clock.send(item, 10, now); },
            [&](std::uint32_t item, std::int64_t now) {
              ended.push_back(item);
              EXPECT_EQ(now, 47);
            });
  EXPECT_EQ(started, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(ended, started);
  EXPECT_EQ(link.settled, (std::vector<std::int64_t>{7, 47}));
}

TEST(TransferClock, StopsBetweenTwoEvents) {
  OneLink link;
  volatile std::sig_atomic_t stop = 0;
  TransferClock clock(link, 3, &stop);
  for (const std::uint32_t item : {0u, 1u, 2u}) clock.start_at(item, 10 * item);
  std::vector<std::uint32_t> ended;
  clock.run([&](std::uint32_t item, std::int64_t now) { clock.send(item, 5, now); },
            [&](std::uint32_t item, std::int64_t) {
              ended.push_back(item);
              if (item == 1) stop = 1;
            });
  EXPECT_EQ(ended, (std::vector<std::uint32_t>{0, 1}));
}

struct OnlineRates {
  OnlineMaxMin solver;
  void open(std::uint32_t f) { solver.open(f); }
  void close(std::uint32_t f) { solver.close(f); }
  void settle(std::int64_t) { solver.settle(); }
  std::span<const std::uint32_t> changed() const { return solver.changed(); }
  double rate(std::uint32_t f) const { return solver.rate(f); }
};

struct RandomTransfer {
  std::int64_t start_ps;
  double bytes;
  std::vector<std::uint32_t> links;
};

/// When each ends, every rate solved again from the definition at every event.
std::vector<double> by_definition(const std::vector<RandomTransfer>& all, const std::vector<double>& capacity) {
  std::vector<double> left, end(all.size(), INFINITY);
  for (const RandomTransfer& t : all) left.push_back(t.bytes);
  double now = 0;
  for (std::size_t done = 0; done < all.size();) {
    std::vector<std::uint32_t> open;
    double next = INFINITY;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const auto start = static_cast<double>(all[i].start_ps);
      if (start > now)
        next = std::min(next, start);
      else if (end[i] == INFINITY)
        open.push_back(i);
    }
    MaxMinSolver solver;
    for (const std::uint32_t i : open)
      solver.add_fluid(all[i].links, std::vector<double>(all[i].links.size(), 1.0), INFINITY);
    solver.solve(capacity);
    const std::span<const double> rates = solver.rates();
    for (std::size_t k = 0; k < open.size(); ++k) next = std::min(next, now + left[open[k]] / rates[k]);
    for (std::size_t k = 0; k < open.size(); ++k) {
      double& rest = left[open[k]];
      rest -= rates[k] * (next - now);
      if (rest <= 1e-9 * all[open[k]].bytes) end[open[k]] = next, ++done;
    }
    now = next;
  }
  return end;
}

TEST(TransferClock, EndsRandomTransfersAsTheDefinitionOfFairRatesDoes) {
  RandomStream random(2, "transfers");
  for (int i = 0; i < 60; ++i) {
    std::vector<double> capacity;
    for (std::uint64_t l = 1 + random.below(6); l > 0; --l) capacity.push_back(0.2 + random.uniform());
    std::vector<RandomTransfer> all;
    OnlineRates rates{OnlineMaxMin(capacity)};
    for (std::uint64_t f = 1 + random.below(15); f > 0; --f) {
      RandomTransfer t{static_cast<std::int64_t>(random.below(4'000'000)), 1e4 + 1e6 * random.uniform(), {}};
      for (std::uint32_t l = 0; l < capacity.size(); ++l)
        if (random.below(2) == 0) t.links.push_back(l);
      if (t.links.empty()) t.links.push_back(0);
      rates.solver.add_flow(t.links, std::vector<double>(t.links.size(), 1.0), INFINITY);
      all.push_back(t);
    }
    TransferClock clock(rates, static_cast<std::uint32_t>(all.size()));
    std::vector<double> end(all.size(), 0);
    for (std::uint32_t f = 0; f < all.size(); ++f) clock.start_at(f, all[f].start_ps);
    clock.run([&](std::uint32_t f, std::int64_t now) { clock.send(f, all[f].bytes, now); },
              [&](std::uint32_t f, std::int64_t now) { end[f] = static_cast<double>(now); });
    const std::vector<double> expected = by_definition(all, capacity);
    for (std::uint32_t f = 0; f < all.size(); ++f) EXPECT_NEAR(end[f], expected[f], 40) << i;  // a picosecond an event
  }
}

}  // namespace
}  // namespace busbar::solve
