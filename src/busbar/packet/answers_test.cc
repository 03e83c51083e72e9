// Answers and timeouts: nothing times out unless a packet was lost.
#include <gtest/gtest.h>

#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

/// Each host sends to all hosts of the other leaf, `rounds` flows to each, all at the same time.
LeafSpine crowd(std::uint32_t rounds, std::uint64_t bytes) {
  LeafSpine n(2, 8, 8);
  for (std::uint32_t r = 0; r < rounds; ++r)
    for (std::uint32_t k = 0; k < 8; ++k)
      for (std::uint32_t h = 0; h < 16; ++h) n.add(h, (h < 8 ? 8 : 0) + (h + k) % 8, bytes);
  return n;
}

/// With 400 flows per host a flow has its turn every 33 us, and an acknowledgement comes after four turns: later than
/// the timeout of 100 us. Each wire carries 400 x 8 packets, 266 us.
TEST(Answers, FlowsThatWaitForTheirTurnDoNotTimeOut) {
  const LeafSpine n = crowd(50, 8 * 4096);
  const double bound_us = 400 * 8 * 0.0832 + 4 * 0.5;
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kCredit, PacketTransport::kDcqcn}) {
    const PacketResult r = n.run({t, PacketBalance::kSpray, 1});
    EXPECT_EQ(r.timeouts, 0u) << static_cast<int>(t);
    EXPECT_EQ(r.resent, r.trims);
    EXPECT_LE(r.received.since_start().in_us(), 1.06 * bound_us) << static_cast<int>(t);
  }
}

/// Windows that shrink leave packets in flight of which none asked for an answer; paths that reorder let the one that
/// asks overtake them. Neither stops a flow.
TEST(Answers, WindowsThatShrinkAndPathsThatReorderStopNoFlow) {
  for (const PacketTransport t : {PacketTransport::kHpcc, PacketTransport::kDcqcn}) {
    for (const PacketBalance b : {PacketBalance::kEcmp, PacketBalance::kSpray}) {
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        LeafSpine n(8, 16, 16);
        for (std::uint32_t k = 0; k < 32; ++k) n.add(16 + 3 * k, 0, 1'000'000);
        const PacketResult r = n.run({t, b, seed});
        EXPECT_EQ(r.drops, 0u);
        EXPECT_EQ(r.timeouts, 0u);
        EXPECT_EQ(r.resent, 0u);
        EXPECT_LT(r.end.since_start().in_us(), 2 * 654.0);
      }
    }
  }
}

TEST(Answers, ACrowdUnderHpccEndsWithoutTimeouts) {
  const PacketResult r = crowd(4, 1 << 20).run({PacketTransport::kHpcc, PacketBalance::kEcmp, 1});
  EXPECT_EQ(r.timeouts, 0u);
  EXPECT_EQ(r.resent, 0u);
  EXPECT_GT(r.asks, 0u);
}

/// Headers of trimmed packets get through however many there are, unless their queue is limited on purpose.
TEST(Answers, TrimmedHeadersAreOnlyLostInALimitedQueue) {
  LeafSpine n(32, 16, 16);
  for (std::uint32_t h = 16; h < 512; ++h) n.add(h, 0, 64'000);
  const PacketOptions options{PacketTransport::kNscc, PacketBalance::kSpray, 1};
  const PacketResult r = n.run(options);
  EXPECT_GT(r.trims, 10'000u);
  EXPECT_EQ(r.drops, 0u);
  EXPECT_EQ(r.timeouts, 0u);
  const auto limited = run_adjusted(n.router, n.list, options, [](Profile& p) { p.network.control_bytes = 64'000; });
  EXPECT_GT(limited.value().drops, 0u);
  EXPECT_GT(limited.value().timeouts, 0u);
}

}  // namespace
}  // namespace busbar::packet
