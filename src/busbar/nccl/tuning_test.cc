#include "busbar/nccl/tuning.h"

#include <gtest/gtest.h>

#include "busbar/nccl/channel_limit.h"
#include "busbar/nccl/test_nodes.h"

namespace busbar::nccl {
namespace {

/// Two nodes with one GPU each over sockets, with the graphs of a public log (eunomia-bpf/nccl-eBPF, docs).
NcclComm over_sockets() {
  NcclComm c;
  c.ranks = 2;
  c.nodes.resize(2);
  c.shapes.emplace_back();
  c.shapes[0].system.cpu = {CpuArch::kX86, CpuVendor::kIntel, 6, 143};
  c.least_capability = 86;
  c.search_channels = 2;
  c.channels = 4;
  NcclGraph g;
  g.channels = 2;
  g.intra_GBps = g.inter_GBps = 1.2f;
  g.intra_type = topology::PathType::kLoc;
  g.inter_type = topology::PathType::kPhb;
  c.graphs.ring = c.graphs.tree = g;
  c.graphs.tree.pattern = NcclPattern::kTree;
  c.graphs.tree.intra_GBps = 2.4f;
  return c;
}

/// Compares to as many digits as the log prints.
void expect_cost(const NcclTuning& t, collectives::Collective op, NcclAlgorithm a, NcclProtocol p, double us,
                 double GBps) {
  EXPECT_NEAR(t.of(op, a, p).latency_us, us, .051)
      << collectives::name_of(op) << " " << name_of(a) << " " << name_of(p);
  EXPECT_NEAR(t.of(op, a, p).GBps, GBps, .051) << collectives::name_of(op) << " " << name_of(a) << " " << name_of(p);
}

TEST(NcclTuning, CostsEqualAPublicLog) {
  const NcclTuning t = tune_nccl(over_sockets());
  using A = NcclAlgorithm;
  using P = NcclProtocol;
  expect_cost(t, collectives::Collective::kAllReduce, A::kRing, P::kLl, 16.6, 1.2);
  expect_cost(t, collectives::Collective::kAllReduce, A::kRing, P::kSimple, 36.4, 2.4);
  expect_cost(t, collectives::Collective::kAllReduce, A::kTree, P::kLl, 16.8, .5);
  expect_cost(t, collectives::Collective::kAllReduce, A::kTree, P::kSimple, 36.4, 1.9);
  expect_cost(t, collectives::Collective::kAllGather, A::kRing, P::kLl, 11.6, 2.4);
  expect_cost(t, collectives::Collective::kAllGather, A::kRing, P::kSimple, 22.4, 4.8);
  expect_cost(t, collectives::Collective::kBroadcast, A::kRing, P::kLl, 9.3, 1.2);
  expect_cost(t, collectives::Collective::kBroadcast, A::kRing, P::kSimple, 22.4, 2.4);
  expect_cost(t, collectives::Collective::kAllGather, A::kPat, P::kSimple, 17.6, 3.6);
  EXPECT_EQ(t.of(collectives::Collective::kAllReduce, A::kRing, P::kLl128).GBps, 0)
      << "over a host bridge, before cc 90";
  const std::uint32_t expected[2][3] = {{512, 640, 512}, {512, 640, 256}};  // Tree; Ring with slow links
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(t.threads[a][p], expected[a][p]);
}

// NCCL 2.19 to 2.30, src/graph/tuning.cc: a step over the network costs 1 us of the processor, 2 on AMD's.
TEST(NcclTuning, AProcessorOfAmdTakesTwiceAsLongForAStepOverTheNetwork) {
  const auto ring_us = [](CpuVendor vendor, std::optional<float> overhead_us) {
    NcclComm c = over_sockets();
    c.ranks = 4;  // so that some steps stay inside a node
    c.shapes[0].system.cpu = {CpuArch::kX86, vendor, 0, 0};
    c.settings.net_overhead_us = overhead_us;
    return tune_nccl(c).of(collectives::Collective::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kSimple).latency_us;
  };
  EXPECT_EQ(ring_us(CpuVendor::kAmd, {}), ring_us(CpuVendor::kAmd, 2));
  EXPECT_EQ(ring_us(CpuVendor::kIntel, {}), ring_us(CpuVendor::kIntel, 1));
  EXPECT_LT(ring_us(CpuVendor::kIntel, 1), ring_us(CpuVendor::kIntel, 2));
}

NcclComm comm_as(const topology::Topology& t, NcclVersion version = {}) {
  NcclSettings settings;
  settings.version = version;
  return build_nccl_comm(t, t.gpus(), settings).value();
}

// On sound links the limit binds in NCCL's table itself: there, all channels together carry what it allows.
TEST(NcclChannelLimit, AllChannelsTogetherCarryWhatTheTableGivesWhereTheLimitBinds) {
  NcclComm c = comm_as(nccl_machine(TestNode{}, 1));
  c.graphs.ring.intra_GBps = c.graphs.tree.intra_GBps = 1000;
  const NcclTuning t = tune_nccl(c);
  const auto channels = static_cast<float>(2 * c.search_channels);
  const NcclChannelLimit ring = nccl_channel_limit(c, NcclAlgorithm::kRing, NcclProtocol::kLl128).value();
  EXPECT_EQ(ring.constant, "perChMaxRingLL128Bws");
  EXPECT_FLOAT_EQ(ring.GBps, 36.7f / 2);  // Hopper
  EXPECT_FLOAT_EQ(t.of(collectives::Collective::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kLl128).GBps,
                  channels * ring.GBps * 8 / 14);
  const NcclChannelLimit tree = nccl_channel_limit(c, NcclAlgorithm::kTree, NcclProtocol::kLl128).value();
  EXPECT_EQ(tree.constant, "perChMaxTreeLL128Bws");
  EXPECT_EQ(nccl_channel_limit(c, NcclAlgorithm::kTree, NcclProtocol::kSimple)->constant, "perChMaxTreeBws");
  EXPECT_FALSE(nccl_channel_limit(c, NcclAlgorithm::kNvls, NcclProtocol::kSimple));
}

// Source of both: NCCL 2.26.2 and 2.30.7, src/graph/tuning.cc.
TEST(NcclTuning, AHopOfATreeBetweenSwitchesCostsMoreFrom2Dot28On) {
  const auto latency_us = [](NcclVersion v) {
    const NcclTuning t = tune_nccl(comm_as(nccl_machine(TestNode{}, 4), v));
    return t.of(collectives::Collective::kAllReduce, NcclAlgorithm::kNvlsTree, NcclProtocol::kSimple).latency_us;
  };
  constexpr float kHops = 4;  // up and down two levels
  EXPECT_NEAR(latency_us({2, 28}) - latency_us({2, 26}), kHops * (20.9 - 14), 1e-3);
  EXPECT_EQ(latency_us({2, 27}), latency_us({2, 26}));
}

NcclChoice choice(const NcclComm& c, collectives::Collective op, std::uint64_t bytes) {
  return choose_nccl(c, tune_nccl(c), op, Bytes{bytes}).value();
}

TEST(NcclChoice, OneNodeOfH100TakesRingsForSmallAndTheSwitchForLargeAllReduces) {
  const NcclComm c = comm_as(nccl_machine(TestNode{}, 1));
  EXPECT_EQ(choice(c, collectives::Collective::kAllReduce, 1024).protocol, NcclProtocol::kLl);
  EXPECT_EQ(choice(c, collectives::Collective::kAllReduce, 1024).algorithm, NcclAlgorithm::kRing);
  EXPECT_EQ(choice(c, collectives::Collective::kAllReduce, 1024).channels, 1u);
  const NcclChoice large = choice(c, collectives::Collective::kAllReduce, 1ull << 30);
  EXPECT_EQ(large.algorithm, NcclAlgorithm::kNvls);
  EXPECT_EQ(large.channels, 16u);
  EXPECT_EQ(large.threads, 640u);
}

// Chunks: first 32 KiB of 16 channels x 8 heads, from 64 MiB on 128 KiB. Source: NCCL 2.30.7, src/enqueue.cc.
TEST(NcclChoice, PiecesOfNvlsTreesGrowWithTheCallAndThenTheirNumber) {
  const NcclComm c = comm_as(nccl_machine(TestNode{}, 2));
  constexpr std::uint64_t kMiB = 1 << 20;
  for (const auto& [mib, pieces] : {std::pair{4u, 1u}, {16u, 2u}, {32u, 4u}, {64u, 4u}, {128u, 8u}, {1024u, 64u}}) {
    const NcclChoice made = choice(c, collectives::Collective::kAllReduce, mib * kMiB);
    ASSERT_EQ(made.algorithm, NcclAlgorithm::kNvlsTree) << mib;
    EXPECT_EQ(made.pieces, pieces) << mib << " MiB";
  }
  const NcclComm more = comm_as(nccl_machine(TestNode{}, 4));  // from four nodes on, at most 64 KiB
  const NcclForced trees{NcclAlgorithm::kNvlsTree, NcclProtocol::kSimple};
  EXPECT_EQ(choose_nccl(more, tune_nccl(more), collectives::Collective::kAllReduce, Bytes{1024 * kMiB}, trees)->pieces,
            128u);
}

TEST(NcclChoice, RingsHaveNoPieces) {
  const NcclComm c = comm_as(nccl_machine(TestNode{}, 1));
  EXPECT_EQ(choice(c, collectives::Collective::kAllGather, 1024).pieces, 0u);
  EXPECT_EQ(choice(c, collectives::Collective::kBroadcast, 1 << 30).pieces, 0u);
}

TEST(NcclChoice, OneNodeOfA100KnowsNoNvlsAndUsesTreesInTheMiddle) {
  TestNode a100;
  a100.compute_capability = 80;
  a100.nvlinks = 12;
  const NcclComm c = comm_as(nccl_machine(a100, 1));
  for (std::uint64_t bytes = 8; bytes <= 1ull << 33; bytes *= 8)
    EXPECT_NE(choice(c, collectives::Collective::kAllReduce, bytes).algorithm, NcclAlgorithm::kNvls);
  EXPECT_EQ(choice(c, collectives::Collective::kAllReduce, 1ull << 30).algorithm, NcclAlgorithm::kRing);
  EXPECT_EQ(choice(c, collectives::Collective::kAllReduce, 1ull << 30).channels, 24u);
}

// Users' measurements with 2.27.7 on 8 H200: rings over 2 to 4 GPUs, NVLS over 5 and more.
TEST(NcclChoice, FiveOfEightGpusTakeNvlsWith227AndFourDoNot) {
  const topology::Topology t = nccl_machine(TestNode{}, 1);
  NcclSettings settings;
  settings.version = {2, 27};
  for (const std::uint32_t gpus : {4u, 5u, 8u}) {
    const NcclComm c = build_nccl_comm(t, t.gpus().first(gpus), settings).value();
    EXPECT_EQ(choice(c, collectives::Collective::kAllReduce, 8ull << 30).algorithm,
              gpus < 5 ? NcclAlgorithm::kRing : NcclAlgorithm::kNvls)
        << gpus;
  }
}

TEST(NcclChoice, ManyNodesReduceOverTreesAndOnePerNodeGathersByPat) {
  const NcclComm c = comm_as(nccl_machine(TestNode{}, 16));
  EXPECT_EQ(choice(c, collectives::Collective::kAllReduce, 1ull << 30).algorithm, NcclAlgorithm::kNvlsTree);
  EXPECT_EQ(choice(c, collectives::Collective::kAllReduce, 4096).algorithm, NcclAlgorithm::kTree);
  EXPECT_EQ(choice(c, collectives::Collective::kBroadcast, 1ull << 30).algorithm, NcclAlgorithm::kRing);
  TestNode one;
  one.gpus = 2;
  const topology::Topology t = nccl_machine(one, 64);
  std::vector<topology::DeviceId> firsts;
  for (std::size_t i = 0; i < t.gpus().size(); i += 2) firsts.push_back(t.gpus()[i]);
  for (const auto& [version, algorithm] :
       {std::pair{NcclVersion{2, 23}, NcclAlgorithm::kPat}, std::pair{NcclVersion{2, 22}, NcclAlgorithm::kRing}}) {
    NcclSettings settings;
    settings.version = version;
    const NcclComm rails = build_nccl_comm(t, firsts, settings).value();
    EXPECT_EQ(choice(rails, collectives::Collective::kAllGather, 1 << 20).algorithm, algorithm);
  }
}

TEST(NcclChoice, ForecastsNeverFallWithSizeAndTheChosenIsTheLeast) {
  for (const std::uint32_t nodes : {1u, 2u, 4u}) {
    const NcclComm c = comm_as(nccl_machine(TestNode{}, nodes));
    const NcclTuning t = tune_nccl(c);
    for (const collectives::Collective op :
         {collectives::Collective::kAllGather, collectives::Collective::kReduceScatter,
          collectives::Collective::kBroadcast}) {
      float before = 0;
      for (std::uint64_t bytes = 64; bytes <= 1ull << 32; bytes *= 2) {
        const NcclChoice x = choose_nccl(c, t, op, Bytes{bytes}).value();
        EXPECT_GE(x.forecast_us, before) << collectives::name_of(op) << " " << bytes;
        before = x.forecast_us;
        EXPECT_LE(x.channels, c.channels);
        EXPECT_GE(x.channels, 1u);
        for (const NcclProtocol p : {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple}) {
          const auto forced = choose_nccl(c, t, op, Bytes{bytes}, {NcclAlgorithm::kRing, p});
          if (forced.ok()) EXPECT_GE(forced->forecast_us, x.forecast_us);
        }
      }
    }
  }
}

TEST(NcclChoice, AForcedChoiceThatDoesNotExistIsRefusedByName) {
  const NcclComm c = comm_as(nccl_machine(TestNode{}, 1));
  const auto refused =
      choose_nccl(c, tune_nccl(c), collectives::Collective::kAllReduce, Bytes{1024}, {NcclAlgorithm::kPat, {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("PAT"), std::string::npos);
}

TEST(NcclChoice, AllToAllIsPointToPointWithMoreChannelsForLargeMessages) {
  const NcclComm c = comm_as(nccl_machine(TestNode{}, 1));
  const NcclChoice small = choice(c, collectives::Collective::kAllToAll, 8 * 1024),
                   large = choice(c, collectives::Collective::kAllToAll, 1ull << 30);
  EXPECT_EQ(small.algorithm, NcclAlgorithm::kPointToPoint);
  EXPECT_EQ(small.protocol, NcclProtocol::kLl);
  EXPECT_EQ(large.protocol, NcclProtocol::kSimple);
  EXPECT_GT(large.channels, small.channels);
  EXPECT_LE(large.channels, c.p2p_channels);
}

TEST(NcclChoice, AReducingNetworkMakesCollnetAvailableForAllReduces) {
  NcclSettings settings;
  settings.collnet = true;
  const topology::Topology t = nccl_machine(TestNode{}, 8);
  const NcclComm c = build_nccl_comm(t, t.gpus(), settings).value();
  const NcclTuning costs = tune_nccl(c);
  for (const NcclAlgorithm a : {NcclAlgorithm::kCollnetChain, NcclAlgorithm::kCollnetDirect, NcclAlgorithm::kNvls})
    EXPECT_GT(costs.of(collectives::Collective::kAllReduce, a, NcclProtocol::kSimple).GBps, 0) << name_of(a);
  EXPECT_EQ(tune_nccl(comm_as(t))
                .of(collectives::Collective::kAllReduce, NcclAlgorithm::kCollnetChain, NcclProtocol::kSimple)
                .GBps,
            0);
}

TEST(NcclVersion, ChangesTheCounts) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  const NcclTuning old = tune_nccl(comm_as(t, {2, 20})), now = tune_nccl(comm_as(t));
  EXPECT_GT(old.of(collectives::Collective::kAllReduce, NcclAlgorithm::kTree, NcclProtocol::kSimple).latency_us,
            now.of(collectives::Collective::kAllReduce, NcclAlgorithm::kTree, NcclProtocol::kSimple).latency_us);
  const topology::Topology one = nccl_machine(TestNode{}, 1);
  EXPECT_LT(
      tune_nccl(comm_as(one, {2, 20}))
          .of(collectives::Collective::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kLl)
          .GBps,
      tune_nccl(comm_as(one)).of(collectives::Collective::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kLl).GBps);
}

}  // namespace
}  // namespace busbar::nccl
