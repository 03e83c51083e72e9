#include <gtest/gtest.h>

#include "busbar/nccl/internal/rccl_tables.h"
#include "busbar/nccl/test_nodes.h"
#include "busbar/nccl/tuning.h"

namespace busbar::nccl {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;

struct AmdLibrary {
  NcclComm comm;
  NcclTuning tuning;
  NcclChoice choice(collectives::Collective op, std::uint64_t bytes, const NcclForced& forced = {}) const {
    return choose_nccl(comm, tuning, op, Bytes{bytes}, forced).value();
  }
};
AmdLibrary amd_library(std::uint32_t nodes, const std::string& target = "gfx942", const NcclSettings& settings = {}) {
  const topology::Topology t = nccl_machine(amd_node(8, target), nodes, 400);
  NcclComm comm = build_nccl_comm(t, t.gpus(), settings).value();
  NcclTuning tuning = tune_nccl(comm);
  return {std::move(comm), std::move(tuning)};
}

TEST(RcclTuning, TablesCoverAllSizes) {
  for (int row = 0; row < 8; ++row)
    for (const RcclSteps* s : {&rccl_constants(row).tree, &rccl_constants(row).ring})
      for (const std::string_view shares : s->by_size) EXPECT_EQ(shares.size(), 27u) << row;
  const RcclSteps& rings = rccl_constants(6).ring;
  EXPECT_FLOAT_EQ(rccl_share(rings, NcclProtocol::kLl128, 256 * kMebi), 5.5f);
  EXPECT_FLOAT_EQ(rccl_share(rings, NcclProtocol::kSimple, 1), .1f) << "below 64 B as at 64 B";
  EXPECT_FLOAT_EQ(rccl_share(rings, NcclProtocol::kSimple, std::uint64_t{1} << 40), 1) << "beyond 4 GiB as there";
}

/// Computed by hand from the formulas: 28 rings of 12 GB/s, 14 steps; two nodes: 28 steps inside, 2 over the network.
TEST(RcclTuning, CostsFollowTheFormulas) {
  const AmdLibrary one = amd_library(1), two = amd_library(2);
  const NcclCost& ll = one.tuning.of(collectives::Collective::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kLl);
  EXPECT_NEAR(ll.latency_us, 12 + 14 * .8, .01);
  EXPECT_NEAR(ll.GBps, 336 * .08 * 8 / 14, .01);
  const NcclCost& simple =
      one.tuning.of(collectives::Collective::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kSimple);
  EXPECT_NEAR(simple.latency_us, 17 + 14 * 2.1, .01);
  EXPECT_NEAR(simple.GBps, 192, .01);
  const NcclCost& far = two.tuning.of(collectives::Collective::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kSimple);
  EXPECT_NEAR(far.latency_us, 17 + 28 * 6 + 2 * 320, .01);
  const NcclCost& tree = two.tuning.of(collectives::Collective::kAllReduce, NcclAlgorithm::kTree, NcclProtocol::kLl);
  EXPECT_NEAR(tree.latency_us, 12 + 2 * (7 * .9 + 10.5), .01);
}

TEST(RcclTuning, OneNodeGoesFromLlToSimpleAndHasNoLl128) {
  const AmdLibrary one = amd_library(1);
  EXPECT_EQ(one.choice(collectives::Collective::kAllReduce, 380'000).protocol, NcclProtocol::kLl);
  EXPECT_EQ(one.choice(collectives::Collective::kAllReduce, 400'000).protocol, NcclProtocol::kSimple);
  EXPECT_FALSE(
      choose_nccl(one.comm, one.tuning, collectives::Collective::kAllReduce, Bytes{kMebi}, {{}, NcclProtocol::kLl128})
          .ok());
  NcclSettings forced;
  forced.rccl_ll128 = true;
  EXPECT_EQ(amd_library(1, "gfx942", forced)
                .choice(collectives::Collective::kAllReduce, kMebi, {{}, NcclProtocol::kLl128})
                .protocol,
            NcclProtocol::kLl128);
}

TEST(RcclTuning, SizesPrescribeTheProtocolBetweenNodes) {
  const AmdLibrary two = amd_library(2), four = amd_library(4);
  const auto protocol = [](const AmdLibrary& a, std::uint64_t bytes) {
    return a.choice(collectives::Collective::kAllReduce, bytes).protocol;
  };
  EXPECT_EQ(protocol(two, 512 << 10), NcclProtocol::kLl);
  EXPECT_EQ(protocol(two, (512 << 10) + 1), NcclProtocol::kLl128);
  EXPECT_EQ(protocol(two, 4'415'058), NcclProtocol::kSimple);
  EXPECT_EQ(protocol(four, 4'415'058), NcclProtocol::kLl128) << "3.8 times as far from three nodes on";
  NcclSettings named;
  named.allowed[nccl_place(collectives::Collective::kAllReduce)].protocols =
      1u << static_cast<unsigned>(NcclProtocol::kSimple);
  EXPECT_EQ(protocol(amd_library(2, "gfx942", named), 1024), NcclProtocol::kSimple) << "not against NCCL_PROTO";
}

/// RCCL, src/rccl_wrap.cc and tuning: the last size of each protocol in bytes per rank (all-reduce: in all).
TEST(RcclTuning, EachOperationHasItsSizesBetweenNodes) {
  using enum NcclProtocol;
  using collectives::Collective;
  const struct {
    const char* target;
    Collective op;
    std::uint64_t last;  ///< of the protocol
    NcclProtocol protocol, next;
  } rows[] = {
      {"gfx942", Collective::kReduce, 4 << 10, kLl, kLl128},
      {"gfx942", Collective::kReduce, 16 << 20, kLl128, kSimple},
      {"gfx942", Collective::kBroadcast, 8 << 10, kLl, kLl128},
      {"gfx942", Collective::kBroadcast, 32 << 20, kLl128, kSimple},
      {"gfx942", Collective::kAllGather, 96 << 10, kLl, kLl128},
      {"gfx942", Collective::kAllGather, 5'046'272, kLl128, kSimple},
      {"gfx942", Collective::kReduceScatter, 3'211'264, kLl128, kSimple},
      {"gfx950", Collective::kAllReduce, 256 << 10, kLl, kLl128},
      {"gfx950", Collective::kAllReduce, 70'640'910, kLl128, kSimple},
      {"gfx950", Collective::kReduce, 16'383, kLl, kLl128},
      {"gfx950", Collective::kBroadcast, 2 << 10, kLl, kLl128},
  };
  for (const auto& r : rows) {
    const AmdLibrary two = amd_library(2, r.target);
    const std::uint64_t ranks = r.op == Collective::kAllReduce ? 1 : 16;
    EXPECT_EQ(two.choice(r.op, r.last * ranks).protocol, r.protocol)
        << r.target << " " << collectives::name_of(r.op) << " " << r.last;
    EXPECT_EQ(two.choice(r.op, (r.last + 1) * ranks).protocol, r.next)
        << r.target << " " << collectives::name_of(r.op) << " " << r.last;
  }
}

TEST(RcclTuning, SmallAllGathersAreSentDirectly) {
  const AmdLibrary one = amd_library(1);
  EXPECT_EQ(one.choice(collectives::Collective::kAllGather, 4 * kMebi).algorithm, NcclAlgorithm::kPointToPoint);
  EXPECT_EQ(one.choice(collectives::Collective::kAllGather, 4 * kMebi + 1).algorithm, NcclAlgorithm::kRing);
  EXPECT_EQ(one.choice(collectives::Collective::kAllReduce, 4 * kMebi).algorithm, NcclAlgorithm::kRing);
  EXPECT_EQ(amd_library(2).choice(collectives::Collective::kAllGather, kMebi).algorithm, NcclAlgorithm::kRing)
      << "no PXN";
  EXPECT_EQ(one.choice(collectives::Collective::kAllGather, kMebi, {NcclAlgorithm::kRing, {}}).algorithm,
            NcclAlgorithm::kRing);
}

TEST(RcclTuning, FewBytesTakeFewChannels) {
  const AmdLibrary one = amd_library(1);
  EXPECT_EQ(one.choice(collectives::Collective::kAllReduce, 8).channels, 1u);
  EXPECT_EQ(one.choice(collectives::Collective::kAllReduce, 1024 * kMebi).channels, 56u);
  const AmdLibrary cdna4 = amd_library(2, "gfx950");
  EXPECT_EQ(cdna4.choice(collectives::Collective::kReduceScatter, 16 * kMebi, {NcclAlgorithm::kRing, {}}).channels,
            56u);
}

}  // namespace
}  // namespace busbar::nccl
