// Which NICs a message between nodes leaves and enters by.
#include "busbar/lowering/crossings.h"

#include <gtest/gtest.h>

#include "busbar/lowering/test_machines.h"
#include "busbar/lowering/test_network.h"

namespace busbar::lowering {
namespace {

/// Two servers of one GPU and four NICs each.
class FourNics : public ::testing::Test {
 protected:
  std::vector<Crossing> crossings(const program::ChannelNics* nics, std::uint32_t from, std::uint32_t to) {
    std::vector<Crossing> out;
    find_crossings(m_.router, m_.placement, nics, from, to, 1, out);
    return out;
  }
  topology::DeviceId nic(std::uint32_t rank, std::uint32_t k) const { return m_.placement.nic(rank, k); }
  topology::DeviceId gpu(std::uint32_t rank) const { return m_.placement.gpu(rank); }
  TestNetwork m_{std::move(single_gpu_nodes(2, 4)).seal()};
};

TEST_F(FourNics, OfTheChannelAreTakenWhereTheLibraryGivesNone) {
  const std::vector<Crossing> all = crossings(nullptr, 0, 1);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].gpu, gpu(0));
  EXPECT_EQ(all[0].nic_from, nic(0, 1));
  EXPECT_EQ(all[0].nic_to, nic(1, 1));
}

// Channel 1: rank 0 sends by a pair of ports, rank 1 receives by three, and receives nothing the other way.
TEST_F(FourNics, OfTheLibraryAreTakenPortByPort) {
  program::ChannelNics nics;
  nics.channels = nics.ranks = 2;
  nics.out = {kNone32, kNone32, 0, kNone32};
  nics.in = {kNone32, kNone32, kNone32, 1};
  nics.proxy = {kNone32, kNone32, 0, kNone32};
  for (const std::uint32_t k : {2u, 3u}) nics.ports.values.push_back(index(nic(0, k)));
  for (const std::uint32_t k : {0u, 1u, 2u}) nics.ports.values.push_back(index(nic(1, k)));
  nics.ports.begin = {0, 2, 5};
  const std::vector<Crossing> all = crossings(&nics, 0, 1);
  ASSERT_EQ(all.size(), 6u) << "each message is divided evenly over the ports of both";
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(all[i].gpu, gpu(0));
    EXPECT_EQ(all[i].nic_from, nic(0, 2 + i % 2));
    EXPECT_EQ(all[i].nic_to, nic(1, i % 3));
  }
  const std::vector<Crossing> back = crossings(&nics, 1, 0);
  ASSERT_EQ(back.size(), 1u) << "the library gives none";
  EXPECT_EQ(back[0].nic_from, nic(1, 1));
}

}  // namespace
}  // namespace busbar::lowering
