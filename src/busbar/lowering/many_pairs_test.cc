// Exchanges of all pairs taken together against the same pairs one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "busbar/lowering/random_cluster.h"
#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

program::CollectiveCall random_exchange(RandomStream& random, std::uint32_t gpus) {
  const collectives::Collective ops[] = {collectives::Collective::kAllToAll, collectives::Collective::kAllGather,
                                         collectives::Collective::kReduceScatter, collectives::Collective::kAllReduce};
  program::CollectiveCall call = test_call(gpus, "direct", 1 + random.below(std::uint64_t{4} << 30));
  call.op = ops[random.below(4)];
  call.channels = static_cast<std::uint32_t>(random.below(4));
  if (gpus % 2 == 0 && random.below(4) == 0) {  // every other GPU
    call.groups = collectives::one_group(gpus / 2);
    call.groups.inner[0].actor_stride = 2;
    call.groups.outer = {{2, 1, 0}};
  }
  return call;
}

/// With host memory at most CPUs, which data cross where the NICs do not reach the GPUs.
topology::NodeTemplate with_host_memory(RandomStream& random, topology::NodeTemplate node) {
  const auto devices = static_cast<std::uint32_t>(node.devices.size());
  for (std::uint32_t d = 0; d < devices; ++d) {
    if (node.devices[d].device_class.kind != topology::DeviceKind::kCpu || random.below(4) == 0) continue;
    node.links.push_back({d, static_cast<std::uint32_t>(node.devices.size()),
                          topology::test_link(topology::LinkKind::kHost, 1 + random.below(100),
                                              Duration::ns(static_cast<std::int64_t>(random.below(900))))});
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNuma, "numa" + std::to_string(d)));
    node.devices.back().device_class.transit_rate = BytesPerSecond{(1 + random.below(60)) * 1'000'000'000};
  }
  return node;
}

struct LoweredPairs {
  std::vector<double> bytes;  ///< per link
  double ps = 0, latest_ps = 0, floor_ps = 0;
  std::size_t fluids = 0;
};

Result<LoweredPairs> lower_pairs(const routing::Router& router, const routing::Placement& placement,
                                 const program::ProtocolModel& protocol, const program::CollectiveCall& call,
                                 const std::vector<LinkDelay>& delays, bool together) {
  Lowering lowering(router, placement, protocol,
                    together ? Shortcuts{.pairs_apart = 0} : Shortcuts{}.without({Shortcut::kPairsAsOneFluid}));
  lowering.set_delays(delays);
  BUSBAR_ASSIGN(const LoweredCall lowered, lowering.lower(call));
  LoweredPairs out;
  out.bytes = bytes_of_links(lowering.capacities(), lowered, router.topology().link_count());
  out.ps = closed_form_ps(lowered);
  out.floor_ps = lowered.algorithm_floor_ps;
  for (const Stage& s : lowered.stages) out.latest_ps += s.latency_ps, out.fluids += s.fluids.size();
  return out;
}

TEST(Pairs, TakenTogetherLoadAndLastLikePairsOneByOne) {
  RandomStream random(4, "pairs");
  std::uint32_t compared = 0, fewer = 0, unreachable = 0;
  for (int i = 0; i < 400; ++i) {
    SCOPED_TRACE(i);
    topology::NodeTemplate node = random_server(random);
    if (random.below(2) == 0) node = with_host_memory(random, std::move(node));
    const topology::Topology t =
        std::move(random_cluster(random, node, 2 + static_cast<std::uint32_t>(random.below(7)))).seal();
    const topology::RoutingPolicy policies[] = {topology::RoutingPolicy::kStatic, topology::RoutingPolicy::kStatic,
                                                topology::RoutingPolicy::kSpray, topology::RoutingPolicy::kValiant,
                                                topology::RoutingPolicy::kAdaptive};
    const routing::Router router(t, policies[random.below(5)], random.next());
    const routing::Placement placement(router, t.gpus());
    program::ProtocolModel protocol = random.below(2) == 0 ? some_protocol() : program::ProtocolModel();
    protocol.gpudirect = random.below(2) != 0;
    if (!protocol.gpudirect) protocol.per_message = Duration::ns(700);
    protocol.channel_rate = BytesPerSecond{random.below(3) == 0 ? std::uint64_t{3'000'000'000} : 0};
    protocol.ll = {.available = true, .efficiency = 0.5};
    program::CollectiveCall call = random_exchange(random, static_cast<std::uint32_t>(t.gpus().size()));
    if (random.below(4) == 0) call.protocol = program::Protocol::kLl;
    std::vector<LinkDelay> delays;
    if (random.below(4) == 0)
      delays.push_back({static_cast<topology::LinkId>(random.below(t.link_count())), 0.5, Duration::us(10)});
    const Result<LoweredPairs> apart = lower_pairs(router, placement, protocol, call, delays, false),
                               together = lower_pairs(router, placement, protocol, call, delays, true);
    ASSERT_EQ(apart.ok(), together.ok());
    if (!apart.ok()) {
      ++unreachable;
      continue;
    }
    ++compared;
    EXPECT_LE(together->fluids, std::max<std::size_t>(apart->fluids, 1));
    fewer += together->fluids < apart->fluids;
    EXPECT_NEAR(together->ps, apart->ps, 1e-9 * apart->ps);
    EXPECT_NEAR(together->latest_ps, apart->latest_ps, 1e-9 * apart->latest_ps);
    EXPECT_NEAR(together->floor_ps, apart->floor_ps, 1e-9 * apart->floor_ps);
    double most = 0;
    for (const double b : apart->bytes) most = std::max(most, b);
    for (std::uint32_t l = 0; l < t.link_count(); ++l)
      ASSERT_NEAR(together->bytes[l], apart->bytes[l], 1e-9 * most) << t.name(topology::LinkId{l});
  }
  EXPECT_GT(compared, 200u);
  EXPECT_GT(fewer, 150u);
  EXPECT_LT(unreachable, 150u);
}

// Islands of six GPUs under two switches, one of them with links of another rate, joined by two upper switches; one
// GPU has a thinner link. A limit of the GPUs counts at each of them.
TEST(Pairs, OfTwinsLoadEachOnesOwnLinksAndSharedOnes) {
  constexpr std::uint32_t kIslands = 3, kEach = 6, kGpus = kIslands * kEach, kUpper = kGpus + 2 * kIslands;
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < kGpus; ++g) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.back().device_class.transit_rate = BytesPerSecond{700'000'000'000};
  }
  for (std::uint32_t s = 0; s < 2 * kIslands + 2; ++s)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "switch" + std::to_string(s)));
  const auto join = [&](std::uint32_t a, std::uint32_t b, double rate) {
    node.links.push_back({a, b, topology::test_link(topology::LinkKind::kNvlink, rate, Duration::ns(500))});
  };
  for (std::uint32_t g = 0; g < kGpus; ++g)
    for (std::uint32_t plane = 0; plane < 2; ++plane)
      join(g, kGpus + 2 * (g / kEach) + plane, g == 7 ? 60 : 100 + 50 * plane);
  for (std::uint32_t s = 0; s < 2 * kIslands; ++s) join(kGpus + s, kUpper + s % 2, 300 + s);
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const TestNetwork m(std::move(b).seal());
  program::CollectiveCall call = test_call(kGpus, "direct", kGiB);
  call.op = collectives::Collective::kAllToAll;
  const LoweredPairs apart = lower_pairs(m.router, m.placement, {}, call, {}, false).value(),
                     together = lower_pairs(m.router, m.placement, {}, call, {}, true).value();
  EXPECT_NEAR(together.ps, apart.ps, 1e-9 * apart.ps);
  EXPECT_NEAR(together.latest_ps, apart.latest_ps, 1e-9 * apart.latest_ps);
  for (std::uint32_t l = 0; l < m.router.topology().link_count(); ++l)
    EXPECT_NEAR(together.bytes[l], apart.bytes[l], 1e-9 * kGiB) << m.router.topology().name(topology::LinkId{l});
  Shortcuts noted{.pairs_apart = 0};
  noted.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  EXPECT_TRUE(try_lower(m, call, {}, noted).ok());
  EXPECT_THAT(noted.names_taken(), testing::Contains("pair classes"));
}

// Two groups over two servers each, in which each of two sets of eight has 8 x 7 pairs.
TEST(Pairs, OfAllGroupsCountWhereManyAreTakenTogether) {
  const TestNetwork m(std::move(pods_of_eight(4)).seal());
  program::CollectiveCall call = test_call(16, "hierarchical(direct,direct)", kGiB);
  call.groups.outer = {{2, 16, 0}};
  const auto fluids = [&](std::uint64_t apart) {
    return try_lower(m, call, {}, {.pairs_apart = apart})->stages.at(0).fluids.size();
  };
  EXPECT_EQ(fluids(2 * 2 * 8 * 7), 2u * 2 * 8 * 7);
  EXPECT_LT(fluids(2 * 2 * 8 * 7 - 1), 2u * 2 * 8 * 7);
}

}  // namespace
}  // namespace busbar::lowering
