// Which groups of ranks share a communicator.
#include "busbar/predict/communicators.h"

#include <gtest/gtest.h>

#include "busbar/predict/predictor.h"

namespace busbar::predict {
namespace {

/// Servers of eight GPUs, the last one with a NIC at half its rate.
class FourServers : public ::testing::Test {
 protected:
  FourServers()
      : cluster_(spec::load_cluster("dgx-h100:4", {.degrade = {"node3.nic3=0.5"}}).value()),
        router_(cluster_.topology, topology::RoutingPolicy::kSpray),
        placement_(router_, cluster_.topology.gpus()),
        communicators_(cluster_.topology, placement_, nccl::NcclSettings{}) {}

  std::vector<std::uint32_t> classes(std::vector<std::uint32_t> ranks, std::uint32_t per_group) {
    collectives::GroupFamily f;
    f.listed_groups = static_cast<std::uint32_t>(ranks.size()) / per_group;
    f.listed = std::move(ranks);
    return communicators_.of(f).value()->class_of;
  }

  spec::Cluster cluster_;
  routing::Router router_;
  routing::Placement placement_;
  Communicators communicators_;
};

using Classes = std::vector<std::uint32_t>;

TEST_F(FourServers, GroupsOnTheSameGpusOfEqualServersShareOne) {
  EXPECT_EQ(classes({0, 1, 8, 9, 0, 1}, 2), (Classes{0, 0, 0}));
  EXPECT_EQ(classes({0, 8, 8, 16, 16, 0}, 2), (Classes{0, 0, 0})) << "one GPU in each of two servers";
}

TEST_F(FourServers, GroupsOnOtherGpusHaveTheirOwn) {
  EXPECT_EQ(classes({0, 1, 2, 3, 1, 0}, 2), (Classes{0, 1, 2}));
  EXPECT_EQ(classes({0, 1, 0, 9}, 2), (Classes{0, 1})) << "in one server, in two";
}

TEST_F(FourServers, ARankWithoutAGpuIsRefusedInAnyPlaceOfItsGroup) {
  for (const std::vector<std::uint32_t>& ranks : {std::vector<std::uint32_t>{32, 0}, {0, 32}}) {
    collectives::GroupFamily f;
    f.listed_groups = 1;
    f.listed = ranks;
    const auto refused = communicators_.of(f);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "rank 32 has no GPU: only 32 are placed");
  }
}

TEST_F(FourServers, AServerWithASlowNicIsOfAnotherKind) {
  EXPECT_EQ(classes({24, 25, 0, 1, 8, 9, 24, 25}, 2), (Classes{0, 1, 1, 0}));
  EXPECT_EQ(classes({0, 8, 0, 24, 16, 24}, 2), (Classes{0, 1, 1}));
}

TEST_F(FourServers, ANumberOfChannelsThatIsAskedForIsPartOfTheCommunicator) {
  const collectives::GroupFamily all = collectives::one_group(16);
  const auto channels = [&](std::uint32_t asked) {
    return communicators_.of(all, asked).value()->first().schedules.comm().channels;
  };
  const std::uint32_t own = channels(0);
  EXPECT_EQ(channels(2), 2u);
  EXPECT_EQ(channels(4), 4u);
  EXPECT_EQ(channels(0), own);
  EXPECT_GT(own, 4u);
}

}  // namespace
}  // namespace busbar::predict
