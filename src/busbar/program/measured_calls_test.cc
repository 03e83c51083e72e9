#include "busbar/program/measured_calls.h"

#include <gtest/gtest.h>

#include <cmath>

namespace busbar::program {
namespace {

CallTraits ring(double bytes, double bytes_share, collectives::Collective op = collectives::Collective::kAllReduce,
                std::uint32_t ranks = 16) {
  return {op, ranks, true, "ring simple", bytes, bytes_share};
}

/// Twice the modelled time up to 64 KiB, 1.3 times from there on.
MeasuredCalls table() {
  std::vector<MeasuredCall> calls;
  for (double bytes = 8; bytes <= 1e10; bytes *= 4) {
    const double share = bytes / (bytes + 1e7);
    calls.push_back({ring(bytes, share), bytes <= 65536 ? 20.0 : 13.0, 10});
  }
  return MeasuredCalls(calls);
}

TEST(MeasuredCalls, AMeasuredCallIsMadeToTakeItsTime) {
  const MeasuredCalls t = table();
  for (const MeasuredCall& m : t.calls())
    if (m.call.bytes < 1000 || m.call.bytes > 1e7)
      EXPECT_NEAR(std::exp(t.ln_factor(m.call)), m.us / m.modelled_us, 0.05);
}

TEST(MeasuredCalls, NothingMeasuredChangesNothing) {
  const MeasuredCalls none({});
  EXPECT_EQ(none.ln_factor(ring(1024, 0.5)), 0);
  EXPECT_EQ(none.at(ring(1024, 0.5)).known, 0);
}

TEST(MeasuredCalls, CallsInsideANodeLearnNothingFromAnotherOperation) {
  const CallTraits measured{collectives::Collective::kAllReduce, 8, false, "ring simple", 1e9, 1};
  CallTraits other = measured;
  other.op = collectives::Collective::kAllGather;
  const MeasuredCalls t({{measured, 20, 10}});
  EXPECT_GT(t.ln_factor(measured), 0.6);
  EXPECT_EQ(t.ln_factor(other), 0);
}

TEST(MeasuredCalls, RatesOfNicsCarryOverToOtherOperationsAndMoreNodes) {
  const MeasuredCalls t = table();
  EXPECT_NEAR(std::exp(t.ln_factor(ring(4e9, 1, collectives::Collective::kAllGather))), 1.2, 0.1);
  EXPECT_NEAR(std::exp(t.ln_factor(ring(4e9, 1, collectives::Collective::kAllReduce, 256))), 1.3, 0.05);
  EXPECT_EQ(t.ln_factor(ring(4e9, 1, collectives::Collective::kAllToAll)), 0);
}

TEST(MeasuredCalls, SpreadIsSmallWhereCallsWereMeasuredAndLargeElsewhere) {
  const MeasuredCalls t = table();
  const auto known = t.at(ring(4e9, 1)), far = t.at(ring(4e9, 1, collectives::Collective::kAllToAll));
  EXPECT_GT(known.known, 0.95);
  EXPECT_LT(known.sigma, 0.08);
  EXPECT_EQ(far.known, 0);
  EXPECT_GT(far.sigma, 0.3);
}

TEST(MeasuredCalls, RatesAndLatenciesAreToldApart) {
  const MeasuredCalls t = table();
  EXPECT_NEAR(std::exp(t.rates(collectives::Collective::kAllReduce, 16, true).ln_factor), 1.3, 0.1);
  EXPECT_GT(t.latencies(collectives::Collective::kAllReduce, 16, true).ln_factor, 0.1);
}

}  // namespace
}  // namespace busbar::program
