// NSCC as the reference simulator of Ultra Ethernet (htsim, uet-htsim 40ccb05, November 2026) has it.
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/packet/background.h"
#include "busbar/packet/internal/test_fabrics.h"
#include "busbar/packet/internal/transport.h"

namespace busbar::packet {
namespace {

const PacketOptions kSprayedNscc{PacketTransport::kNscc, PacketBalance::kSpray, 1};

/// The network of the comparisons: round trip 4.34 us, 217 kB in flight, target 0.75 round trips.
ControlSettings reference_settings() {
  ControlSettings s;
  s.law = transport_of(PacketTransport::kNscc).law;
  s.network_rtt = 4'337'920;
  s.network_bdp = 216'896;
  s.max_window = 1.5 * s.network_bdp;
  s.target_delay = s.network_rtt * 3 / 4;
  s.line_rate = 0.05;
  return s;
}

Control begun(const ControlSettings& s) {
  Control c;
  begin(c, s, 0, s.network_rtt, s.network_bdp);
  return c;
}

/// The first period begins with the first answer, so that a trim in the first round trip costs its packet alone.
TEST(Nscc, ATrimInTheFirstRoundTripTakesOnePacketOffTheWindow) {
  const ControlSettings s = reference_settings();
  Control c = begun(s);
  on_loss(c, s, 3 * s.network_rtt, s.packet_bytes, 50 * s.packet_bytes);
  EXPECT_DOUBLE_EQ(c.window, s.max_window - s.packet_bytes);
}

/// The trim is remembered: at the end of the period the window becomes what arrived in it. Marked answers about packets
/// sent before then change nothing.
TEST(Nscc, AWindowFarTooLargeBecomesWhatArrivedInAPeriod) {
  const ControlSettings s = reference_settings();
  Control c = begun(s);
  const Ps first = s.network_rtt;
  on_loss(c, s, first, s.packet_bytes, 50 * s.packet_bytes);
  AckReport report;
  report.bytes = 4 * s.packet_bytes;
  report.delay = s.target_delay;
  report.last_marked = true;
  report.in_flight = 40 * s.packet_bytes;
  report.now = first + s.network_rtt;
  on_ack(c, s, report);
  EXPECT_GT(c.window, s.max_window / 2);
  report.now = first + s.network_rtt + s.target_delay + 1;
  on_ack(c, s, report);
  EXPECT_DOUBLE_EQ(c.window, 8 * s.packet_bytes);
  for (int k = 0; k < 9; ++k) on_ack(c, s, report);
  EXPECT_DOUBLE_EQ(c.window, 8 * s.packet_bytes);
}

TEST(Nscc, AWindowWithoutDelayGrowsByAThirdInARoundTrip) {
  const ControlSettings s = reference_settings();
  Control c = begun(s);
  c.window = 8 * s.packet_bytes;
  AckReport report;
  report.bytes = s.packet_bytes;
  report.delay = 900'000;
  for (int k = 0; k < 9; ++k) on_ack(c, s, report);  // a window and a packet
  const double before = c.window;
  for (int k = 0; k < 8; ++k) on_ack(c, s, report);
  EXPECT_NEAR(c.window - before, 8 * s.packet_bytes * 0.25 * s.network_bdp / 150'000, s.packet_bytes);
}

/// Senders near the receiver have smaller windows, as many bytes as fill their own route. Reference: near 890 to 1,126
/// us, far 1,207 to 1,306 us.
TEST(Nscc, NearSendersOfAnIncastEndLittleEarlierThanFarOnes) {
  LeafSpine n(8, 16, 16);
  for (std::uint32_t k = 0; k < 8; ++k) n.add(1 + k, 0, 4'000'000);
  for (std::uint32_t k = 0; k < 8; ++k) n.add(16 + 14 * k, 0, 4'000'000);
  double near_us = 0, far_us = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    PacketOptions o = kSprayedNscc;
    o.seed = seed;
    const PacketResult r = n.run(o);
    for (std::size_t f = 0; f < 16; ++f) (f < 8 ? near_us : far_us) += r.flows[f].fct.in_us() / 32;
  }
  EXPECT_NEAR(near_us, 1008, 101);
  EXPECT_NEAR(far_us, 1257, 126);
}

/// Poisson arrivals of web-search sizes at 60 % load. The reference has a mean slowdown of 1.75 and 4.45 at p99 for
/// flows of 30 to 300 kB, over a list of its own of 4,532 flows.
TEST(Nscc, FlowsThatEnterBusyPortsKeepTheirWindow) {
  LeafSpine n(8, 16, 16);
  BackgroundTraffic b;
  b.load = 0.6;
  b.until = SimTime::at(Duration::us(1500));
  b.seed = 5;
  b.sizes.points = {{1, 0},           {10'000, 0.15},   {20'000, 0.2},      {30'000, 0.3},
                    {50'000, 0.4},    {80'000, 0.53},   {200'000, 0.6},     {1'000'000, 0.7},
                    {2'000'000, 0.8}, {5'000'000, 0.9}, {10'000'000, 0.97}, {30'000'000, 1}};
  ASSERT_TRUE(add_background(b, n.router, n.list).ok());
  const PacketResult r = n.run(kSprayedNscc);
  std::vector<double> slow;
  for (std::size_t f = 0; f < r.flows.size(); ++f) {
    const std::uint64_t bytes = count(n.list.flows[f].bytes);
    if (bytes < 30'000 || bytes >= 300'000) continue;
    const double idle_us = 4.5 + static_cast<double>(bytes) * 4160 / 4096 / 50e3;
    slow.push_back(r.flows[f].fct.in_us() / idle_us);
  }
  std::sort(slow.begin(), slow.end());
  ASSERT_GT(slow.size(), 300u);
  double mean = 0;
  for (const double x : slow) mean += x / static_cast<double>(slow.size());
  EXPECT_LT(mean, 1.75 * 1.1);
  EXPECT_LT(slow[slow.size() * 99 / 100], 4.45 * 1.25);
}

}  // namespace
}  // namespace busbar::packet
