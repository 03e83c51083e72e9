#include "busbar/choice/nccl_schedules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/collectives/edges.h"
#include "busbar/nccl/test_nodes.h"

namespace busbar::choice {
namespace {

program::CollectiveCall laid(const topology::Topology& t, const char* algorithm,
                             const nccl::NcclSettings& settings = {}) {
  NcclSchedules schedules(nccl::build_nccl_comm(t, t.gpus(), settings).value());
  program::CollectiveCall call;
  call.op = collectives::Collective::kAllReduce;
  call.bytes = Bytes{1 << 20};
  call.groups = collectives::one_group(static_cast<std::uint32_t>(t.gpus().size()));
  call.algorithm = algorithm;
  return schedules.over_channels(call).value();
}

/// Checks the NICs of the moves between nodes, per channel, for a schedule with 8 ranks per node.
void expect_nics_where_needed(const topology::Topology& t, const program::CollectiveCall& call) {
  ASSERT_NE(call.nics, nullptr);
  const program::ChannelNics& nics = *call.nics;
  ASSERT_EQ(nics.channels, call.schedule->channels);
  ASSERT_EQ(nics.out.size(), std::size_t{nics.channels} * nics.ranks);
  const auto expect_own = [&](std::uint32_t rank, std::uint32_t row) {
    ASSERT_NE(row, kNone32) << "rank " << rank;
    for (const std::uint32_t d : nics.ports.row(row)) {
      EXPECT_EQ(t.kind(static_cast<topology::DeviceId>(d)), topology::DeviceKind::kNic);
      EXPECT_EQ(t.block_of(static_cast<topology::DeviceId>(d)), t.block_of(t.gpus()[rank]));
    }
  };
  for (const collectives::Phase& phase : call.schedule->phases)
    collectives::for_each_edge(*call.schedule, phase, 0, [&](std::uint32_t from, std::uint32_t to, auto) {
      if (t.block_of(t.gpus()[from]) == t.block_of(t.gpus()[to])) return;
      expect_own(from, nics.out[nics.at(phase.channel, from)]);
      expect_own(to, nics.in[nics.at(phase.channel, to)]);
      EXPECT_EQ(t.block_of(t.gpus()[nics.proxy[nics.at(phase.channel, from)]]), t.block_of(t.gpus()[from]));
    });
}

TEST(NcclSchedules, RanksThatCrossNodesHaveNicsOfTheirOwnNode) {
  for (const char* algorithm : {"ring", "tree"}) {
    SCOPED_TRACE(algorithm);
    const topology::Topology t = nccl::nccl_machine(nccl::TestNode{}, 3);
    expect_nics_where_needed(t, laid(t, algorithm));
  }
}

TEST(NcclSchedules, EveryNicOfRailsCarriesTheSameShareOfARing) {
  const topology::Topology t = nccl::nccl_machine(nccl::TestNode{}, 2);
  const program::CollectiveCall call = laid(t, "ring");
  std::vector<std::uint32_t> sends(t.device_count(), 0);
  for (const std::uint32_t row : call.nics->out)
    for (std::size_t i = 0; row != kNone32 && i < call.nics->ports.row(row).size(); ++i)
      ++sends[call.nics->ports.row(row)[i]];
  std::vector<std::uint32_t> of_nics;
  for (std::uint32_t d = 0; d < t.device_count(); ++d)
    if (t.kind(static_cast<topology::DeviceId>(d)) == topology::DeviceKind::kNic) of_nics.push_back(sends[d]);
  ASSERT_EQ(of_nics.size(), 16u);
  EXPECT_GT(of_nics[0], 0u);
  EXPECT_EQ(std::count(of_nics.begin(), of_nics.end(), of_nics[0]), 16);
}

TEST(NcclSchedules, PortsThatAreOneDeviceCarryAMessageTogether) {
  nccl::TestNode node;
  node.nics_per_switch = node.ports_per_card = 2;
  const topology::Topology t = nccl::nccl_machine(node, 2);
  const program::CollectiveCall merged = laid(t, "ring");
  for (const std::uint32_t row : merged.nics->out)
    if (row != kNone32) {
      EXPECT_EQ(merged.nics->ports.row(row).size(), 2u);
    }
  nccl::NcclSettings apart;
  apart.merge_level = topology::PathType::kLoc;
  const program::CollectiveCall single = laid(t, "ring", apart);
  for (std::uint32_t row = 0; row < single.nics->ports.rows(); ++row) EXPECT_EQ(single.nics->ports.row(row).size(), 1u);
}

TEST(NcclSchedules, InsideOneNodeThereAreNoNics) {
  EXPECT_EQ(laid(nccl::nccl_machine(nccl::TestNode{}, 1), "ring").nics, nullptr);
}

TEST(NcclSchedules, NicsBelongToGlobalRanks) {
  const topology::Topology t = nccl::nccl_machine(nccl::TestNode{}, 2);
  const std::vector<topology::DeviceId> gpus(t.gpus().begin() + 4, t.gpus().begin() + 12);  // half of each node
  NcclSchedules schedules(nccl::build_nccl_comm(t, gpus, {}).value());
  program::CollectiveCall call;
  call.op = collectives::Collective::kAllReduce;
  call.bytes = Bytes{1 << 20};
  call.groups = collectives::one_group(8);
  call.groups.base = 4;
  call.algorithm = "ring";
  call = schedules.over_channels(call).value();
  ASSERT_EQ(call.nics->ranks, 12u);
  for (std::uint32_t c = 0; c < call.schedule->channels; ++c)
    for (std::uint32_t r = 0; r < 12; ++r) {
      const std::uint32_t row = call.nics->out[call.nics->at(c, r)];
      if (row == kNone32) continue;
      EXPECT_EQ(t.block_of(static_cast<topology::DeviceId>(call.nics->ports.row(row)[0])), t.block_of(t.gpus()[r]));
      EXPECT_GE(call.nics->proxy[call.nics->at(c, r)], 4u);
    }
}

TEST(NcclSchedules, GroupsOnDifferentGpusOfTheirServersHaveTheirOwnNics) {
  const topology::Topology t = nccl::nccl_machine(nccl::TestNode{}, 2);
  std::vector<NcclSchedules> of_gpu;
  for (std::uint32_t g = 0; g < 8; ++g)
    of_gpu.emplace_back(
        nccl::build_nccl_comm(t, std::vector<topology::DeviceId>{t.gpus()[g], t.gpus()[8 + g]}, {}).value());
  const NcclGroups groups([&](std::uint32_t g) -> NcclSchedules& { return of_gpu[g]; },
                          [&](std::uint32_t, std::uint32_t member) { return t.blocks()[member].first_device; });
  program::CollectiveCall call;
  call.op = collectives::Collective::kReduceScatter;
  call.bytes = Bytes{1 << 20};
  call.groups.outer = {{8, 1, 0}};
  call.groups.inner = {{2, 8, 0}};
  call.algorithm = "ring";
  call = groups.over_channels(call).value();
  ASSERT_NE(call.nics, nullptr);
  for (std::uint32_t r = 0; r < 16; ++r) {
    const std::uint32_t row = call.nics->out[call.nics->at(0, r)];
    ASSERT_NE(row, kNone32);
    const std::string name = "node" + std::to_string(r / 8) + ".nic" + std::to_string(r % 8);
    EXPECT_EQ(t.name(static_cast<topology::DeviceId>(call.nics->ports.row(row)[0])), name);
  }
}

TEST(NcclSchedules, GroupsThatShareACommunicatorStayOnTheirOwnServers) {
  const topology::Topology t = nccl::nccl_machine(nccl::TestNode{}, 4);
  NcclSchedules pair(nccl::build_nccl_comm(t, std::span(t.gpus()).first(16), {}).value());
  const NcclGroups groups(
      [&](std::uint32_t) -> NcclSchedules& { return pair; },
      [&](std::uint32_t group, std::uint32_t member) { return t.blocks()[group * 2 + member / 8].first_device; });
  program::CollectiveCall call;
  call.op = collectives::Collective::kAllReduce;
  call.bytes = Bytes{1 << 20};
  call.groups.outer = {{2, 16, 0}};
  call.groups.inner = {{16, 1, 0}};
  for (const char* algorithm : {"ring", "tree", "pat"}) {
    SCOPED_TRACE(algorithm);
    call.algorithm = algorithm;
    const program::CollectiveCall laid = groups.over_channels(call).value();
    ASSERT_NE(laid.nics, nullptr);
    EXPECT_EQ(laid.schedule == nullptr, call.algorithm == "pat");
    for (std::uint32_t c = 0; c < laid.nics->channels; ++c)
      for (std::uint32_t r = 0; r < 32; ++r)
        if (const std::uint32_t row = laid.nics->in[laid.nics->at(c, r)]; row != kNone32) {
          EXPECT_EQ(t.block_of(static_cast<topology::DeviceId>(laid.nics->ports.row(row)[0])), t.block_of(t.gpus()[r]));
        }
  }
}

}  // namespace
}  // namespace busbar::choice
