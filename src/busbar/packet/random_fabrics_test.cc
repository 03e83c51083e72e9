// Random networks and traffic: what holds whatever the transport, the paths and the faults are.
#include <gtest/gtest.h>

#include "busbar/base/random.h"
#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

constexpr PacketTransport kTransports[] = {PacketTransport::kNscc,  PacketTransport::kDcqcn, PacketTransport::kHpcc,
                                           PacketTransport::kRoce,  PacketTransport::kSwift, PacketTransport::kTcpCubic,
                                           PacketTransport::kDctcp, PacketTransport::kIb,    PacketTransport::kCredit};
constexpr PacketBalance kWays[] = {PacketBalance::kEcmp, PacketBalance::kSpray, PacketBalance::kAdaptive,
                                   PacketBalance::kFlowlet};

/// Leaves, spines, rates, latencies, sizes, starts and dependencies from the seed.
LeafSpine random_fabric(RandomStream& random) {
  const std::uint32_t leaves = 1 + random.below(4), hosts = 2 + random.below(6), spines = 1 + random.below(4);
  LeafSpine n(leaves, hosts, spines,
              cable(5'000'000'000 * (1 + random.below(20)), Duration::ns(1 + random.below(2000))));
  const std::uint32_t all = leaves * hosts, flows = 1 + random.below(60);
  for (std::uint32_t f = 0; f < flows; ++f) {
    const std::uint32_t from = random.below(all), to = (from + 1 + random.below(all - 1)) % all;
    std::vector<std::uint32_t> after;
    if (f > 0 && random.below(3) == 0) after.push_back(random.below(f));
    n.add(from, random.below(3) == 0 && from != 0 ? 0 : to, 1 + random.below(300'000),
          Duration::ns(random.below(20'000)), after);
  }
  return n;
}

std::uint64_t packets_of(const LeafSpine& n) {
  std::uint64_t all = 0;
  for (const program::ListedFlow& f : n.list.flows) all += (count(f.bytes) + 4095) / 4096;
  return all;
}

TEST(RandomFabrics, EveryFlowEndsAndEveryPacketIsAccountedFor) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    RandomStream random(seed, "fabric");
    const LeafSpine n = random_fabric(random);
    PacketOptions o{kTransports[seed % 9], kWays[random.below(4)], seed};
    o.cut_through = random.below(2) == 1;
    const PacketResult r = n.run(o);
    EXPECT_EQ(r.done, n.list.flows.size()) << seed;
    EXPECT_EQ(r.data, packets_of(n) + r.resent) << seed;
    const bool lossless = o.transport == PacketTransport::kDcqcn || o.transport == PacketTransport::kHpcc ||
                          o.transport == PacketTransport::kRoce || o.transport == PacketTransport::kIb;
    if (lossless) EXPECT_EQ(r.drops + r.trims + r.resent + r.timeouts, 0u) << seed;
    if (r.drops + r.trims == 0 && o.balance == PacketBalance::kEcmp) EXPECT_EQ(r.timeouts, 0u) << seed;
    std::uint64_t received = 0;  // bytes that reached hosts: payload, headers and copies
    for (const PacketLink& l : r.links)
      if (n.topology.kind(n.topology.to(l.link)) == topology::DeviceKind::kNic) received += l.bytes;
    std::uint64_t offered = 0;
    for (const program::ListedFlow& f : n.list.flows) offered += count(f.bytes);
    EXPECT_GE(received, offered + 64 * packets_of(n)) << seed;
    for (const PacketOutcome& f : r.flows) EXPECT_NE(f.held_by, kNone<topology::LinkId>) << seed;
    for (std::uint32_t threads = 2; threads <= 4; ++threads) {
      o.threads = threads;
      EXPECT_EQ(n.run(o).digest, r.digest) << seed;
    }
  }
}

/// With losses and a cable that fails for a while, all flows end all the same.
TEST(RandomFabrics, NoFlowIsStuckByFaultsThatEnd) {
  for (std::uint32_t seed = 1; seed <= 45; ++seed) {
    RandomStream random(seed, "faults");
    const LeafSpine n = random_fabric(random);
    PacketOptions o{kTransports[seed % 9], kWays[random.below(2)], seed};
    for (std::uint32_t l = 0; l < n.topology.link_count(); ++l) {
      PacketFault fault{static_cast<topology::LinkId>(l), PacketFault::Kind::kLoss, 0.01, SimTime()};
      if (random.below(12) == 0) {
        fault.kind = PacketFault::Kind::kDown;
        fault.from = SimTime::at(Duration::us(5));
        fault.until = SimTime::at(Duration::us(300));
      }
      if (random.below(2) == 0) o.faults.push_back(fault);
    }
    const PacketResult r = n.run(o);
    EXPECT_EQ(r.done, n.list.flows.size()) << seed << r.stuck;
    EXPECT_EQ(r.data, packets_of(n) + r.resent) << seed;
    for (o.threads = 2; o.threads <= 4; ++o.threads) {
      const PacketResult same = n.run(o);
      EXPECT_EQ(same.digest, r.digest) << seed;
      EXPECT_EQ(same.drops, r.drops) << seed;
    }
  }
}

}  // namespace
}  // namespace busbar::packet
