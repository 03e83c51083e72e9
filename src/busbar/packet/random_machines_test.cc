// Random machines of every kind, with random traffic and faults: packets are conserved, and nothing stops unexplained.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/base/text.h"
#include "busbar/packet/internal/test_fabrics.h"
#include "busbar/topology/test_parts.h"

namespace busbar::packet {
namespace {

enum class MachineKind { kTwoTiers, kThreeTiers, kRails, kOversubscribed, kDragonfly, kTorus, kRing, kGpuTorus };
constexpr MachineKind kMachineKinds[] = {MachineKind::kTwoTiers,       MachineKind::kThreeTiers, MachineKind::kRails,
                                         MachineKind::kOversubscribed, MachineKind::kDragonfly,  MachineKind::kTorus,
                                         MachineKind::kRing,           MachineKind::kGpuTorus};
topology::LinkClass random_cable(RandomStream& random, topology::LinkKind kind) {
  topology::LinkClass c = cable(10'000'000'000 * (1 + random.below(9)), Duration::ns(100 + random.below(900)));
  c.kind = kind;
  return c;
}

topology::Topology random_topology(MachineKind kind, RandomStream& random) {
  if (kind == MachineKind::kGpuTorus) {
    topology::NodeTemplate node;
    node.name = "node";
    const std::uint32_t x = 2 + random.below(4), y = 2 + random.below(3);
    const topology::LinkClass link = random_cable(random, topology::LinkKind::kIci);
    for (std::uint32_t g = 0; g < x * y; ++g) {
      node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
      const std::uint32_t right = g - g % x + (g + 1) % x, below = (g + x) % (x * y);
      if (x > 2 || g % x == 0) node.links.push_back({g, right, link});
      if (y > 2 || g < x) node.links.push_back({g, below, link});
    }
    topology::TopologyBuilder b;
    b.add_block(b.add_template(std::move(node)));
    return std::move(b).seal();
  }
  const std::uint32_t gpus = kind == MachineKind::kRails ? 2 + random.below(3) : 1;
  std::uint32_t nodes = 4 + random.below(12);
  const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random.below(n)); };
  topology::FabricSpec s = topology::test_fabric(topology::FabricKind::kLeafSpine, 8);
  switch (kind) {
    case MachineKind::kThreeTiers:
      s = topology::test_fabric(topology::FabricKind::kFatTree, 4);
      break;
    case MachineKind::kRails:
      s = topology::test_fabric(topology::FabricKind::kRailOptimised, 16);
      break;
    case MachineKind::kOversubscribed:
      s = topology::test_fabric(topology::FabricKind::kLeafSpine, 8, 3);
      break;
    case MachineKind::kDragonfly:
      s = topology::test_fabric(topology::FabricKind::kDragonfly, 8);
      break;
    case MachineKind::kTorus:
      s = topology::test_fabric(topology::FabricKind::kTorus, 0);
      s.dims = {2 + draw(3), 2 + draw(3), 0};
      nodes = 2 * s.dims[0] * s.dims[1];
      break;
    case MachineKind::kRing:
      s = topology::test_fabric(topology::FabricKind::kTorus, 0);
      s.dims = {4 + draw(4), 0, 0};
      nodes = 2 * s.dims[0];
      break;
    default:
      break;
  }
  s.nic_link = random_cable(random, topology::LinkKind::kInfiniband);
  for (topology::TierSpec& tier : s.levels) tier.up = s.nic_link;
  Result<topology::TestCluster> c = topology::test_cluster(s, topology::test_nics(gpus, true), nodes);
  EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.error().message);
  return std::move(c->builder).seal();
}

/// With flows from GPU to GPU, some of which wait for others.
struct RandomMachine {
  const MachineKind kind;
  const topology::Topology topology;
  const routing::Router router;
  program::FlowList list;

  /// `most`: bytes of a flow. `incast`: one flow in three goes to the first GPU.
  RandomMachine(MachineKind k, RandomStream& random, std::uint32_t most, bool incast = true)
      : kind(k), topology(random_topology(k, random)), router(topology, topology::RoutingPolicy::kStatic) {
    const auto all = static_cast<std::uint32_t>(topology.gpus().size());
    const std::uint32_t flows = all + random.below(all);
    for (std::uint32_t f = 0; f < flows; ++f) {
      const std::uint32_t from = random.below(all);
      const std::uint32_t to =
          incast && random.below(3) == 0 && from != 0 ? 0 : (from + 1 + random.below(all - 1)) % all;
      const topology::DeviceId a = topology.gpus()[from], b = topology.gpus()[to];
      if (k != MachineKind::kGpuTorus && topology.block_of(a) == topology.block_of(b)) continue;  // no link joins them
      list.flows.push_back({a, b, router.nearest_nic(a, 0), router.nearest_nic(b, 0), Bytes{1 + random.below(most)},
                            SimTime::at(Duration::ns(random.below(20'000))), program::FlowTrigger::kReceived});
      const auto before = static_cast<std::uint32_t>(list.after.rows());
      if (before > 0 && random.below(4) == 0) list.after.values.push_back(random.below(before));
      list.after.close_row();
    }
  }
  std::uint64_t packets() const {
    std::uint64_t all = 0;
    for (const program::ListedFlow& f : list.flows) all += (count(f.bytes) + 4095) / 4096;
    return all;
  }
};

bool is_lossless(PacketTransport t) {
  return t == PacketTransport::kDcqcn || t == PacketTransport::kHpcc || t == PacketTransport::kRoce ||
         t == PacketTransport::kIb;
}

/// What enters a switch leaves it, is trimmed or is dropped. Frames of lossless networks begin and end at switches.
void expect_conserved(const RandomMachine& m, const PacketResult& r, PacketTransport t) {
  std::map<std::uint32_t, std::int64_t> stays;  // bytes in less bytes out, per switch
  for (const PacketLink& l : r.links) {
    for (const auto& [device, bytes] : {std::pair{m.topology.to(l.link), static_cast<std::int64_t>(l.bytes)},
                                        std::pair{m.topology.from(l.link), -static_cast<std::int64_t>(l.bytes)}})
      if (m.topology.kind(device) != topology::DeviceKind::kGpu &&
          m.topology.kind(device) != topology::DeviceKind::kNic)
        stays[index(device)] += bytes;
  }
  const auto most = static_cast<std::int64_t>(4160 * (r.trims + r.drops));
  for (const auto& [device, bytes] : stays) {
    if (is_lossless(t)) continue;
    EXPECT_GE(bytes, 0) << m.topology.name(static_cast<topology::DeviceId>(device));
    EXPECT_LE(bytes, most) << m.topology.name(static_cast<topology::DeviceId>(device));
  }
  EXPECT_EQ(r.done, m.list.flows.size()) << r.stuck;
  EXPECT_EQ(r.data, m.packets() + r.resent);
}

/// The links named between two colons follow each other, and the last leads to the first.
void expect_circle(const std::string& message) {
  const std::size_t at = message.find("circle: ");
  ASSERT_NE(at, std::string::npos) << message;
  const std::string names = message.substr(at + 8, message.find(';', at) - at - 8);
  std::vector<std::string> from, to;
  for (std::string_view link : split_at(names, ',')) {
    while (link.starts_with(' ')) link.remove_prefix(1);
    const std::size_t arrow = link.find("->");
    ASSERT_NE(arrow, std::string_view::npos) << message;
    from.emplace_back(link.substr(0, arrow));
    to.emplace_back(link.substr(arrow + 2));
  }
  ASSERT_GE(from.size(), 3u) << message;
  for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(to[i], from[(i + 1) % from.size()]) << message;
  EXPECT_NE(message.find("--transport nscc"), std::string::npos) << message;
}

constexpr PacketTransport kEveryTransport[] = {
    PacketTransport::kNscc,  PacketTransport::kDcqcn, PacketTransport::kHpcc,
    PacketTransport::kRoce,  PacketTransport::kSwift, PacketTransport::kTcpCubic,
    PacketTransport::kDctcp, PacketTransport::kIb,    PacketTransport::kCredit};
constexpr PacketBalance kEveryBalance[] = {PacketBalance::kEcmp, PacketBalance::kSpray, PacketBalance::kAdaptive,
                                           PacketBalance::kFlowlet};

TEST(RandomMachines, ConservePackets) {
  std::uint64_t drops = 0, trims = 0;
  for (std::uint32_t seed = 1; seed <= 144; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "machines");
    const RandomMachine m(kMachineKinds[seed % 8], random, 1u << (10 + random.below(9)));
    PacketOptions o{kEveryTransport[seed % 9], kEveryBalance[random.below(4)], seed};
    if (!is_lossless(o.transport) && random.below(2) == 0) o.settings = {read_packet_setting("queue", "17kB").value()};
    const Result<PacketResult> r = run_packet_list(m.router, m.list, o);
    ASSERT_TRUE(r.ok()) << r.error().message;
    expect_conserved(m, *r, o.transport);
    drops += r->drops;
    trims += r->trims;
    if (is_lossless(o.transport)) EXPECT_EQ(r->drops + r->trims, 0u);
    o.threads = 2 + seed % 3;
    EXPECT_EQ(run_packet_list(m.router, m.list, o)->digest, r->digest) << o.threads;
  }
  EXPECT_GT(drops, 0u);
  EXPECT_GT(trims, 0u);
}

/// Small buffers on machines with circles: every run ends, or names links that follow each other around a circle.
TEST(RandomMachines, DeadlockOnlyAroundACircleThatIsNamed) {
  std::uint32_t deadlocks = 0;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "circles");
    const RandomMachine m(seed % 2 == 0 ? MachineKind::kRing : MachineKind::kTorus, random, 1u << 21, false);
    PacketOptions o{seed % 3 == 0 ? PacketTransport::kIb : PacketTransport::kRoce, PacketBalance::kEcmp, seed};
    o.settings = {seed % 3 == 0 ? read_packet_setting("credit_buffer", "9kB").value()
                                : read_packet_setting("pause_above", "9kB").value()};
    const Result<PacketResult> r = run_packet_list(m.router, m.list, o);
    o.threads = 3;
    const Result<PacketResult> same = run_packet_list(m.router, m.list, o);
    ASSERT_EQ(same.ok(), r.ok());
    if (r.ok()) {
      EXPECT_EQ(r->done, m.list.flows.size());
      EXPECT_EQ(r->drops, 0u);
      EXPECT_EQ(same->digest, r->digest);
      continue;
    }
    EXPECT_EQ(same.error().message, r.error().message);
    expect_circle(r.error().message);
    ++deadlocks;
  }
  EXPECT_GT(deadlocks, 0u);
}

/// Cables that lose packets, slow down, or fail for a while.
TEST(RandomMachines, EndEveryFlowInSpiteOfFaults) {
  for (std::uint32_t seed = 1; seed <= 54; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "machine faults");
    const RandomMachine m(kMachineKinds[seed % 4], random, 1u << (10 + random.below(9)));
    PacketOptions o{kEveryTransport[seed % 9], kEveryBalance[random.below(4)], seed};
    for (std::uint32_t l = 0; l < m.topology.link_count(); ++l) {
      if (random.below(4) > 0 ||
          m.topology.link_class(static_cast<topology::LinkId>(l)).kind == topology::LinkKind::kPcie)
        continue;
      PacketFault fault{static_cast<topology::LinkId>(l), PacketFault::Kind::kLoss, 0.01, SimTime()};
      const std::uint32_t kind = random.below(6);
      if (kind < 2) {
        fault.kind = kind == 0 ? PacketFault::Kind::kDown : PacketFault::Kind::kRate;
        fault.value = kind == 0 ? 0 : 0.3;
        fault.from = SimTime::at(Duration::us(random.below(20)));
        fault.until = fault.from + Duration::us(100 + random.below(300));
      }
      o.faults.push_back(fault);
    }
    const PacketResult r = run_packet_list(m.router, m.list, o).value();
    expect_conserved(m, r, o.transport);
    o.threads = 2 + seed % 3;
    const PacketResult same = run_packet_list(m.router, m.list, o).value();
    EXPECT_EQ(same.digest, r.digest) << o.threads;
    EXPECT_EQ(same.drops, r.drops) << o.threads;
  }
}

}  // namespace
}  // namespace busbar::packet
