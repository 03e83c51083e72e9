// Spraying: what flows do about slow and dead paths.
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

constexpr double kHealthyUs = 45.7, kTimeoutUs = 100, kRoundTripUs = 4.34;

/// 128 hosts; each sends 2 MB to the host 16 further on, so that all flows cross the spines.
LeafSpine shifted() {
  LeafSpine n(8, 16, 16);
  for (std::uint32_t h = 0; h < 128; ++h) n.add(h, (h + 16) % 128, 2'000'000);
  return n;
}

/// Both directions of all cables between these devices.
std::vector<PacketFault> on_cables(const LeafSpine& n, const std::string& leaf, const std::string& spine,
                                   PacketFault fault) {
  std::vector<PacketFault> all;
  for (std::uint32_t l = 0; l < n.topology.link_count(); ++l) {
    const std::string name = n.topology.name(static_cast<topology::LinkId>(l));
    if (name.find(leaf) == std::string::npos || name.find(spine + (name.starts_with("leaf") ? "" : "->")) > name.size())
      continue;
    if (name.starts_with("leaf") && !name.ends_with(spine)) continue;
    fault.link = static_cast<topology::LinkId>(l);
    all.push_back(fault);
  }
  return all;
}

double longest_us(const PacketResult& r) {
  double longest = 0;
  for (const PacketOutcome& f : r.flows) longest = std::max(longest, f.fct.in_us());
  return longest;
}

/// One of 16 spines at a quarter of its rate. The reference simulator of Ultra Ethernet (htsim, one failed link per
/// leaf, 2025) takes 51.7 us; taking paths in turn takes 67.5 us.
TEST(Paths, FlowsTurnAwayFromASlowSpine) {
  const LeafSpine n = shifted();
  PacketOptions o{PacketTransport::kNscc, PacketBalance::kSpray, 1};
  o.faults = on_cables(n, "leaf", "spine0", {{}, PacketFault::Kind::kRate, 0.25, SimTime()});
  ASSERT_EQ(o.faults.size(), 16u);
  for (o.seed = 1; o.seed <= 3; ++o.seed) {
    const PacketResult r = n.run(o);
    EXPECT_LE(longest_us(r), 52.0) << o.seed;
    EXPECT_EQ(r.timeouts, 0u);
  }
}

/// Each flow loses less than a window: a path is not taken again once a window of later packets has arrived, or after
/// a timeout. The last packets and answers of a flow cost one timeout.
TEST(Paths, ADeadCableCostsAtMostAWindowAndATimeout) {
  const LeafSpine n = shifted();
  PacketOptions o{PacketTransport::kNscc, PacketBalance::kSpray, 1};
  o.faults = on_cables(n, "leaf0", "spine1", {{}, PacketFault::Kind::kDown, 0, SimTime::at(Duration::us(10))});
  ASSERT_EQ(o.faults.size(), 2u);
  for (o.seed = 1; o.seed <= 3; ++o.seed) {
    const PacketResult r = n.run(o);
    EXPECT_LE(longest_us(r), 1.1 * kHealthyUs + kTimeoutUs + kRoundTripUs) << o.seed;
    for (const PacketOutcome& f : r.flows) EXPECT_LT(f.resent, 53u);
    EXPECT_EQ(r.done, 128u);
  }
}

/// Values that fall anywhere meet the spines unevenly, as many balls in bins; the reference takes 49.9 to 50.0 us.
TEST(Paths, IndependentHashesAreLessEvenThanLinearOnes) {
  const LeafSpine n = shifted();
  const PacketOptions o{PacketTransport::kNscc, PacketBalance::kSpray, 1};
  const PacketResult even = n.run(o);
  const auto uneven = run_adjusted(n.router, n.list, o, [](Profile& p) { p.network.independent_hash = true; });
  EXPECT_LT(longest_us(even), 46.0);
  EXPECT_GT(longest_us(*uneven), 47.0);
  EXPECT_LT(longest_us(*uneven), 53.0);
}

/// With one path per flow spraying is hashing by flow.
TEST(Paths, OnePathKeepsTheOrder) {
  const LeafSpine n = shifted();
  const auto one = run_adjusted(n.router, n.list, {PacketTransport::kNscc, PacketBalance::kSpray, 1},
                                [](Profile& p) { p.hosts.paths = 1; });
  EXPECT_GT(longest_us(*one), 80.0);
}

}  // namespace
}  // namespace busbar::packet
