#include "busbar/nccl/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "busbar/nccl/test_nodes.h"
#include "busbar/nccl/tuning.h"

namespace busbar::nccl {
namespace {

using testing::HasSubstr;

NcclSettings settings_from(std::initializer_list<const char*> lines) {
  NcclSettings s;
  for (const char* line : lines) {
    const Status done = parse_nccl_setting(line, s);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().text());
  }
  return s;
}

std::string refusal(const char* line) {
  NcclSettings s;
  const Status done = parse_nccl_setting(line, s);
  return done.ok() ? "taken" : done.error().text();
}

/// NCCL's choice for `op` on `nodes` nodes of 8 H100.
NcclChoice choice_with(const NcclSettings& s, collectives::Collective op, std::uint64_t bytes,
                       std::uint32_t nodes = 1) {
  const topology::Topology t = nccl_machine(TestNode{}, nodes);
  const auto comm = build_nccl_comm(t, t.gpus(), s);
  return *choose_nccl(*comm, tune_nccl(*comm), op, Bytes{bytes});
}
constexpr std::uint64_t kLarge = 1 << 30;

TEST(NcclEnvironment, NamesAreUniqueAndEachIsTakenWithSomeValue) {
  std::set<std::string_view> names;
  for (const NcclVariable& v : nccl_variables()) {
    EXPECT_TRUE(names.insert(v.name).second) << v.name;
    bool taken = false;
    for (const char* value : {"1", "PXB", "IB", "ring", "simple", "64", "4194304", "AllReduce_AGxLL_R"}) {
      NcclSettings s;
      taken = taken || parse_nccl_setting(std::string(v.name) + "=" + value, s).ok();
    }
    EXPECT_TRUE(taken) << v.name;
    EXPECT_FALSE(v.effect.empty() || v.values.empty()) << v.name;
  }
}

TEST(NcclEnvironment, ThePageOfTheModelListsThemAll) {
  std::ifstream in("docs/models/nccl.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const NcclVariable& v : nccl_variables())
    EXPECT_THAT(page, HasSubstr("| " + std::string(v.name) + " | " + std::string(v.values) + " | " +
                                std::string(v.effect) + " |"));
}

TEST(NcclEnvironment, RefusesInvalidSettingsWithTheRemedy) {
  EXPECT_THAT(refusal("NCCL_NVSL_ENABLE=0"), HasSubstr("did you mean 'NCCL_NVLS_ENABLE'?"));
  EXPECT_THAT(refusal("NCCL_NVLS_ENABLE"), HasSubstr("write NCCL_NVLS_ENABLE=0"));
  EXPECT_THAT(refusal("NCCL_CROSS_NIC=3"), HasSubstr("NCCL_CROSS_NIC: '3' is not a whole number from 0 to 2"));
  EXPECT_THAT(refusal("NCCL_ALGO=allreduce:rings"), HasSubstr("'rings' is not one of tree, ring"));
  EXPECT_THAT(refusal("NCCL_ALGO=alltoall:ring"), HasSubstr("'alltoall' is not one of allreduce"));
  EXPECT_THAT(refusal("NCCL_P2P_LEVEL=NEAR"), HasSubstr("'NEAR' is not a path type; use one of LOC, NVL"));
  EXPECT_THAT(refusal("NCCL_IB_HCA=mlx5_0"), HasSubstr("--fail"));
  EXPECT_THAT(refusal("NCCL_NET=AWS Libfabric"), HasSubstr("fabric.transport"));
  EXPECT_EQ(refusal("NCCL_DEBUG=INFO"), "taken");
}

TEST(NcclEnvironment, ARefusedSettingChangesNothing) {
  NcclSettings s;
  EXPECT_FALSE(parse_nccl_setting("NCCL_ALGO=ring;allreduce:rings", s).ok());
  EXPECT_TRUE(s.allowed[0].has(NcclAlgorithm::kTree));
}

TEST(NcclEnvironment, AlgorithmsAreAllowedPerCollectiveAndLaterGroupsWin) {
  const NcclSettings s = settings_from({"NCCL_ALGO=^tree;allreduce:Tree,NVLS", "NCCL_PROTO=LL128"});
  const NcclAllowed& reduce = s.allowed[nccl_place(collectives::Collective::kAllReduce)];
  EXPECT_TRUE(reduce.has(NcclAlgorithm::kTree) && reduce.has(NcclAlgorithm::kNvls));
  EXPECT_FALSE(reduce.has(NcclAlgorithm::kRing) || reduce.has(NcclProtocol::kSimple));
  EXPECT_TRUE(reduce.has(NcclProtocol::kLl128));
  const NcclAllowed& gather = s.allowed[nccl_place(collectives::Collective::kAllGather)];
  EXPECT_TRUE(gather.has(NcclAlgorithm::kRing) && !gather.has(NcclAlgorithm::kTree));
}

TEST(NcclEnvironment, ForbiddenAlgorithmsAreNotChosen) {
  EXPECT_EQ(choice_with({}, collectives::Collective::kAllReduce, kLarge).algorithm, NcclAlgorithm::kNvls);
  const auto reduce = [](const NcclSettings& s) { return choice_with(s, collectives::Collective::kAllReduce, kLarge); };
  EXPECT_EQ(reduce(settings_from({"NCCL_NVLS_ENABLE=0"})).algorithm, NcclAlgorithm::kRing);
  EXPECT_EQ(reduce(settings_from({"NCCL_ALGO=tree"})).algorithm, NcclAlgorithm::kTree);
  EXPECT_EQ(reduce(settings_from({"NCCL_ALGO=^nvls", "NCCL_PROTO=LL"})).protocol, NcclProtocol::kLl);
  EXPECT_EQ(choice_with(settings_from({"NCCL_ALGO=tree"}), collectives::Collective::kBroadcast, kLarge).algorithm,
            NcclAlgorithm::kRing)
      << "rings are the last resort";
  EXPECT_EQ(
      choice_with(settings_from({"NCCL_PAT_ENABLE=1", "NCCL_ALGO=pat"}), collectives::Collective::kAllGather, 1024, 2)
          .algorithm,
      NcclAlgorithm::kPat);
}

TEST(NcclEnvironment, NamingLl128MakesItAvailableWhereNcclDoesNotTrustIt) {
  TestNode pcie;
  pcie.nvlinks = 0;
  const topology::Topology t = nccl_machine(pcie, 1);
  const auto protocol_under = [&](const NcclSettings& s) {
    const auto comm = build_nccl_comm(t, t.gpus(), s);
    return choose_nccl(*comm, tune_nccl(*comm), collectives::Collective::kAllReduce, Bytes{kLarge},
                       {{}, NcclProtocol::kLl128})
        .ok();
  };
  EXPECT_FALSE(protocol_under({}));
  EXPECT_TRUE(protocol_under(settings_from({"NCCL_PROTO=LL128"})));
}

TEST(NcclEnvironment, ChannelsAndThreadsAreAsSet) {
  EXPECT_EQ(choice_with(settings_from({"NCCL_MAX_CTAS=4"}), collectives::Collective::kAllReduce, kLarge).channels, 4u);
  EXPECT_EQ(choice_with(settings_from({"NCCL_MIN_NCHANNELS=40"}), collectives::Collective::kAllGather, kLarge).channels,
            40u);
  constexpr std::uint64_t kSmall = 64 << 10;
  const NcclSettings many = settings_from({"NCCL_NTHREADS=64", "NCCL_ALGO=ring", "NCCL_PROTO=simple"});
  const NcclSettings few = settings_from({"NCCL_ALGO=ring", "NCCL_PROTO=simple"});
  EXPECT_GT(choice_with(many, collectives::Collective::kAllReduce, kSmall).channels,
            choice_with(few, collectives::Collective::kAllReduce, kSmall).channels);
}

TEST(NcclEnvironment, LargerBuffersMeanFewerPieces) {
  const NcclSettings tree = settings_from({"NCCL_ALGO=tree", "NCCL_PROTO=simple"});
  const NcclSettings large = settings_from({"NCCL_ALGO=tree", "NCCL_PROTO=simple", "NCCL_BUFFSIZE=8388608"});
  constexpr std::uint64_t kMiddle = 480 << 20;
  EXPECT_EQ(choice_with(tree, collectives::Collective::kAllReduce, kMiddle).pieces,
            2 * choice_with(large, collectives::Collective::kAllReduce, kMiddle).pieces);
  const NcclSettings chunk = settings_from({"NCCL_NVLS_CHUNKSIZE=65536"});
  EXPECT_EQ(choice_with(chunk, collectives::Collective::kAllReduce, kLarge).pieces,
            2 * choice_with({}, collectives::Collective::kAllReduce, kLarge).pieces);
}

TEST(NcclEnvironment, PathsFollowTheLevels) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  const auto node = [&](std::initializer_list<const char*> lines) {
    return std::move(build_nccl_comm(t, t.gpus(), settings_from(lines))->shapes.front().system);
  };
  EXPECT_EQ(node({"NCCL_P2P_DISABLE=1"}).gpu_gpu.at(0, 1).type, topology::PathType::kPhb);
  EXPECT_EQ(node({"NCCL_P2P_LEVEL=NVL"}).gpu_gpu.at(0, 1).type, topology::PathType::kNvl);
  EXPECT_EQ(node({"NCCL_NET_GDR_LEVEL=LOC"}).gpu_net.at(0, 0).type, topology::PathType::kPhb);
  EXPECT_EQ(node({"NCCL_IB_DISABLE=1"}).gpu_net.at(0, 0).type, topology::PathType::kPhb);
  EXPECT_EQ(node({"NCCL_NET=Socket"}).gpu_net.at(0, 0).type, topology::PathType::kPhb);
  EXPECT_EQ(node({"NCCL_NET=Socket", "NCCL_NET=IB"}).gpu_net.at(0, 0).type, topology::PathType::kPix)
      << "the last one counts";
  EXPECT_EQ(node({"NCCL_PXN_DISABLE=1"}).gpu_net.at(0, 1).type, topology::PathType::kPhb);
}

TEST(NcclEnvironment, WithoutSharedMemoryGpusThatDoNotReachEachOtherAreRefused) {
  const topology::Topology t = nccl_machine(TestNode{}, 1);
  EXPECT_TRUE(build_nccl_comm(t, t.gpus(), settings_from({"NCCL_SHM_DISABLE=1"})).ok());
  const auto none = build_nccl_comm(t, t.gpus(), settings_from({"NCCL_SHM_DISABLE=1", "NCCL_P2P_DISABLE=1"}));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
}

TEST(NcclAlgorithms, AreKnownByTheirOwnNamesAndByThoseOfOurSchedules) {
  for (const NcclAlgorithm a : {NcclAlgorithm::kTree, NcclAlgorithm::kRing, NcclAlgorithm::kNvls,
                                NcclAlgorithm::kNvlsTree, NcclAlgorithm::kPat})
    EXPECT_EQ(nccl_algorithm(schedule_name(a)), a);
  EXPECT_EQ(nccl_algorithm("nvlstree"), NcclAlgorithm::kNvlsTree);
  EXPECT_EQ(nccl_algorithm("NVLSTree"), std::nullopt);  // our flags take small letters
  for (const char* name : {"sharp", "direct", "p2p", "collnetchain", "auto", ""})
    EXPECT_EQ(nccl_algorithm(name), std::nullopt) << name;
}

}  // namespace
}  // namespace busbar::nccl
