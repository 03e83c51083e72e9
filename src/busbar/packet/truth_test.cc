// Known answers: queueing theory, max-min shares, and the states to which congestion control converges.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "busbar/base/random.h"
#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

constexpr double kServicePs = 20;  ///< per byte at 50 GB/s

/// Packets at one port: Poisson in time, from random hosts, with sizes that `size` draws.
struct Arrivals {
  LeafSpine n{1, 401, 0};
  double lindley_ps = 0;  ///< sum of waits at the port by Lindley's recursion over the same arrivals

  template <class Size>
  Arrivals(std::uint64_t seed, int count, double mean_wire_bytes, std::uint32_t header, double rho, Size&& size) {
    RandomStream random(seed, "poisson");
    std::vector<std::int64_t> free(401, 0);
    std::vector<std::pair<std::int64_t, std::int64_t>> at_port;  // arrival, service
    double at_ps = 0;
    for (int i = 0; i < count; ++i) {
      at_ps += -std::log(1 - random.uniform()) * mean_wire_bytes * kServicePs / rho;
      const auto host = static_cast<std::uint32_t>(1 + random.below(400));
      const std::uint64_t bytes = size(random);
      const std::int64_t start = std::llround(at_ps), service = static_cast<std::int64_t>(20 * (bytes + header));
      free[host] = std::max(free[host], start) + service;
      at_port.emplace_back(free[host] + 500'000, service);
      n.add(host, 0, bytes, Duration::ps(start));
    }
    std::sort(at_port.begin(), at_port.end());
    std::int64_t busy = 0;
    for (const auto& [arrival, service] : at_port) {
      lindley_ps += static_cast<double>(std::max<std::int64_t>(0, busy - arrival));
      busy = std::max(busy, arrival) + service;
    }
  }
  double waited_ps(std::uint32_t header) const {
    const PacketResult r = run_adjusted(n.router, n.list, {}, [&](Profile& p) {
                             p.hosts.header = header;
                             p.network.queue_bytes = 1u << 30;  // nothing is trimmed
                           }).value();
    double sum = 0;
    for (const PacketOutcome& f : r.flows) sum += static_cast<double>(f.parts.queueing.in_ps());
    return sum;
  }
};

/// M/D/1 and M/M/1 wait rho / (2 (1 - rho)) and rho / (1 - rho) services on average. Against the same arrivals the sum
/// of waits is exact, except for ties of arrivals. Against theory it is within three standard deviations of the mean of
/// so many waits. Sources: Kleinrock, Queueing Systems I, 1975, sections 3.2 and 5.6; Whitt, "Planning queueing
/// simulations", Management Science 1989, eq. 23: rho (2 + 5 rho - 4 rho^2 + rho^3) / (1 - rho)^4 / n, M/M/1; M/D/1 has
/// less.
TEST(Truth, WaitsAtOnePortFollowQueueingTheory) {
  for (const double rho : {0.5, 0.8, 0.95}) {
    const int count = rho > 0.9 ? 150'000 : 60'000;
    const double spread =
        3 * std::sqrt(rho * (2 + 5 * rho - 4 * rho * rho + rho * rho * rho) / count) / std::pow(1 - rho, 2);
    const Arrivals fixed(11, count, 4160, 64, rho, [](RandomStream&) { return std::uint64_t{4096}; });
    const double waited = fixed.waited_ps(64), services = waited / count / (4160 * kServicePs);
    EXPECT_DOUBLE_EQ(waited, fixed.lindley_ps) << rho;
    EXPECT_NEAR(services, rho / (2 * (1 - rho)), spread / 2) << rho;

    const double mean = 300;
    const Arrivals drawn(12, count, mean, 0, rho, [&](RandomStream& r) {
      const double x = -std::log(1 - r.uniform()) * mean;
      return static_cast<std::uint64_t>(std::clamp(std::ceil(x - 0.5), 1.0, 4096.0));
    });
    const double random_waited = drawn.waited_ps(0), random_services = random_waited / count / (mean * kServicePs);
    EXPECT_NEAR(random_waited, drawn.lindley_ps, 1e-5 * random_waited) << rho;
    EXPECT_NEAR(random_services, rho / (1 - rho), spread) << rho;
  }
}

/// Arrivals in step with service never wait.
TEST(Truth, ArrivalsInStepWithServiceNeverWait) {
  LeafSpine n(1, 33, 0);
  for (std::uint32_t i = 0; i < 3200; ++i) n.add(1 + i % 32, 0, 4096, Duration::ps(83'200 * i));
  for (const PacketOutcome& f : n.run().flows) EXPECT_EQ(f.parts.queueing, Duration());
}

/// Switches in a row, `hosts` hosts on each.
struct Row {
  topology::Topology topology;
  routing::Router router;
  program::FlowList list;
  Row(std::uint32_t switches, std::uint32_t hosts, std::uint64_t trunk_bytes_per_s = 50'000'000'000)
      : topology(build(switches, hosts, trunk_bytes_per_s)), router(topology, topology::RoutingPolicy::kStatic) {}
  void add(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, Duration start = {}) {
    const topology::DeviceId a = topology.gpus()[from], b = topology.gpus()[to];
    list.flows.push_back(
        {a, b, router.nearest_nic(a, 0), router.nearest_nic(b, 0), Bytes{bytes}, SimTime::at(start), {}});
    list.after.close_row();
  }
  static topology::Topology build(std::uint32_t switches, std::uint32_t hosts, std::uint64_t trunk_bytes_per_s) {
    topology::TopologyBuilder b;
    const std::uint32_t host = b.add_template(bare_host());
    for (std::uint32_t h = 0; h < switches * hosts; ++h) b.add_block(host);
    topology::DeviceClass leaf;
    leaf.kind = topology::DeviceKind::kLeaf;
    std::vector<topology::DeviceId> s;
    for (std::uint32_t i = 0; i < switches; ++i) s.push_back(b.add_switch(leaf, "leaf" + std::to_string(i)));
    for (std::uint32_t h = 0; h < switches * hosts; ++h)
      b.connect(b.device(static_cast<topology::BlockId>(h), 1), s[h / hosts], cable(50'000'000'000, Duration::ns(500)));
    for (std::uint32_t i = 0; i + 1 < switches; ++i)
      b.connect(s[i], s[i + 1], cable(trunk_bytes_per_s, Duration::ns(500)));
    return std::move(b).seal();
  }
};

/// Bytes per ns of each flow between two times.
std::map<std::uint32_t, double> rates_between(const routing::Router& router, const program::FlowList& list,
                                              const PacketOptions& options, Duration from, Duration until,
                                              const std::function<void(Profile&)>& adjust = {},
                                              const std::function<void(std::span<const PacketLinkSample>)>& look = {}) {
  std::map<std::uint32_t, double> first, rate;
  std::sig_atomic_t stop = 0;
  PacketOptions o = options;
  o.stop = &stop;
  o.series.every = Duration::us(10);
  o.series.look = [&](SimTime at, std::span<const PacketLinkSample> links, std::span<const PacketFlowSample> active) {
    const Duration now = at.since_start();
    if (look && now >= from) look(links);
    for (const PacketFlowSample& s : active) {
      if (now == from) first[s.flow] = s.packets;
      if (now < until || stop != 0) continue;
      rate[s.flow] = (s.packets - first[s.flow]) * 4160.0 * 1000 / static_cast<double>((now - from).in_ps());
    }
    if (now >= until) stop = 1;
  };
  const auto r = run_adjusted(router, list, o, adjust);
  EXPECT_TRUE(r.ok());
  return rate;
}

void without_window(Profile& p) {
  p.hosts.control.max_window = 4e6;
  p.hosts.control.window_follows_rate = false;
}

const PacketOptions kDcqcn{PacketTransport::kDcqcn, PacketBalance::kEcmp, 1};

double jain(const std::map<std::uint32_t, double>& rates) {
  double sum = 0, squares = 0;
  for (const auto& [flow, r] : rates) {
    sum += r;
    squares += r * r;
  }
  return sum * sum / (squares * static_cast<double>(rates.size()));
}

double total(const std::map<std::uint32_t, double>& rates) {
  double sum = 0;
  for (const auto& [flow, r] : rates) sum += r;
  return sum;
}

/// Four hosts, each one switch further from the last one, send to the host there. Its cable is the only bottleneck.
TEST(Truth, AParkingLotIsSharedAsEachControlMustShareIt) {
  const auto shares = [](PacketTransport t) {
    Row n(5, 1);
    for (std::uint32_t s = 0; s < 4; ++s) n.add(s, 4, 400'000'000);
    return rates_between(n.router, n.list, {t, PacketBalance::kEcmp, 1}, Duration::us(1000), Duration::us(5000));
  };
  const auto granted = shares(PacketTransport::kCredit);  // max-min
  for (const auto& [flow, rate] : granted) EXPECT_NEAR(rate, 12.5, 0.01 * 12.5) << flow;
  const auto rated = shares(PacketTransport::kDcqcn);
  for (const auto& [flow, rate] : rated) EXPECT_NEAR(rate, 12.5, 0.1 * 12.5) << flow;
  EXPECT_NEAR(total(rated), 50, 0.5);
  // Pauses and credits share each switch between its cables, not between flows: the flow that joins last gets half.
  for (const PacketTransport t : {PacketTransport::kRoce, PacketTransport::kIb}) {
    const auto halved = shares(t);
    const double expected[] = {6.25, 6.25, 12.5, 25};
    for (const auto& [flow, rate] : halved) EXPECT_NEAR(rate, expected[flow], 0.02 * expected[flow]) << flow;
  }
  // NSCC's windows follow the delay of each flow's own way: those with shorter ways get a little more.
  const auto windows = shares(PacketTransport::kNscc);
  EXPECT_GE(jain(windows), 0.98);
  for (const auto& [flow, rate] : windows) EXPECT_NEAR(rate, 12.5, 0.15 * 12.5) << flow;
  EXPECT_NEAR(total(windows), 50, 0.5);
}

/// DCQCN without a window: N flows converge to C / N each. With more flows, more packets are marked and the queue is
/// longer. Source: Zhu et al., SIGCOMM 2015, section 5.1 (unique fixed point, equal rates); Zhu et al., "ECN or delay",
/// CoNEXT 2016, eq. 9 (marking grows with N).
TEST(Truth, DcqcnConvergesToEqualSharesAndMarksMoreForMoreFlows) {
  double marked_before = 0, queue_before = 0;
  for (const std::uint32_t flows : {2u, 4u, 8u, 16u, 32u, 64u}) {
    LeafSpine n(1, 65, 0);
    for (std::uint32_t f = 0; f < flows; ++f) n.add(1 + f, 0, 4'000'000'000ull, Duration::ns(137 * f));
    std::uint64_t marks = 0, packets = 0;
    double queue = 0;
    const auto rates =
        rates_between(n.router, n.list, kDcqcn, Duration::us(5000), Duration::us(20'000), without_window,
                      [&](std::span<const PacketLinkSample> links) {
                        const auto full = std::max_element(
                            links.begin(), links.end(), [](const auto& x, const auto& y) { return x.marks < y.marks; });
                        marks = full->marks;
                        packets = full->sent_bytes / 4160;
                        queue += static_cast<double>(full->queue_bytes);
                      });
    EXPECT_EQ(rates.size(), flows);
    EXPECT_GE(jain(rates), 0.99) << flows;
    EXPECT_GE(total(rates), 0.94 * 50) << flows;
    EXPECT_LE(total(rates), 50.001) << flows;
    const double marked = static_cast<double>(marks) / static_cast<double>(packets);
    EXPECT_GT(marked, marked_before) << flows;
    EXPECT_GT(queue, queue_before) << flows;
    marked_before = marked;
    queue_before = queue;
  }
}

/// A second flow joins after 2 ms and leaves after about 7 ms. In between both get half. Then the first one gains its
/// greatest step of 100 Mb/s every 300 us.
TEST(Truth, DcqcnAnswersAFlowThatJoinsAndOneThatLeaves) {
  LeafSpine n(1, 3, 0);
  n.add(1, 0, 4'000'000'000ull);
  n.add(2, 0, 100'000'000ull, Duration::us(2000));
  const auto between = [&](std::int64_t from, std::int64_t until) {
    return rates_between(n.router, n.list, kDcqcn, Duration::us(from), Duration::us(until), without_window);
  };
  EXPECT_NEAR(between(1000, 2000).at(0), 50, 0.01);
  const auto both = between(4000, 6000);
  EXPECT_NEAR(both.at(0), 25, 0.1 * 25);
  EXPECT_NEAR(both.at(1), 25, 0.1 * 25);
  const double after = between(9000, 10'000).at(0), later = between(19'000, 20'000).at(0);
  EXPECT_NEAR(later - after, 10'000 / 300.0 * 0.1 / 8, 0.1 * 10'000 / 300.0 * 0.1 / 8);
}

/// Two flows leave switch 0, three leave switch 2, by fast trunks over switch 1 to switch 3. All except one go to one
/// host there, whose cable C is full. Credits stop trunks, not flows. Switch 1 takes x from each side, hence x + x / 2
/// = C, and the flow to the idle host, alone on its cable, gets x / 2 = C / 3. With DCQCN it gets all of C.
TEST(Truth, AVictimOfStoppedTrunksLosesTwoThirdsAndNothingUnderDcqcn) {
  topology::TopologyBuilder b;
  const std::uint32_t host = b.add_template(bare_host());
  constexpr std::uint32_t kSwitchOf[] = {0, 0, 2, 2, 2, 3, 3};
  for (std::size_t h = 0; h < std::size(kSwitchOf); ++h) b.add_block(host);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  std::vector<topology::DeviceId> s;
  for (std::uint32_t i = 0; i < 4; ++i) s.push_back(b.add_switch(leaf, "leaf" + std::to_string(i)));
  for (std::uint32_t h = 0; h < std::size(kSwitchOf); ++h)
    b.connect(b.device(static_cast<topology::BlockId>(h), 1), s[kSwitchOf[h]],
              cable(50'000'000'000, Duration::ns(500)));
  for (const std::uint32_t i : {0u, 2u, 3u}) b.connect(s[1], s[i], cable(400'000'000'000, Duration::ns(500)));
  const topology::Topology t = std::move(b).seal();
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  program::FlowList list;
  for (const auto& [from, to] : {std::pair{0, 5}, {1, 6}, {2, 5}, {3, 5}, {4, 5}}) {
    const topology::DeviceId x = t.gpus()[from], y = t.gpus()[to];
    list.flows.push_back({x, y, router.nearest_nic(x, 0), router.nearest_nic(y, 0), Bytes{800'000'000}, {}, {}});
    list.after.close_row();
  }
  const auto ib = rates_between(router, list, {PacketTransport::kIb, PacketBalance::kEcmp, 1}, Duration::us(2000),
                                Duration::us(8000));
  EXPECT_NEAR(ib.at(1), 50.0 / 3, 0.01 * 50 / 3);
  EXPECT_NEAR(ib.at(0), 50.0 / 3, 0.01 * 50 / 3);
  for (const std::uint32_t f : {2u, 3u, 4u}) EXPECT_NEAR(ib.at(f), 100.0 / 9, 0.01 * 100 / 9);
  const auto tuned = rates_between(router, list, kDcqcn, Duration::us(2000), Duration::us(8000));
  EXPECT_NEAR(tuned.at(1), 50, 0.01 * 50);
  const auto untuned = rates_between(router, list, {PacketTransport::kRoce, PacketBalance::kEcmp, 1},
                                     Duration::us(2000), Duration::us(8000));
  EXPECT_LT(untuned.at(1), 0.5 * 50);  // dynamic thresholds share by buffer, not evenly
}

}  // namespace
}  // namespace busbar::packet
