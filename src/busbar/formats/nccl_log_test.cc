#include "busbar/formats/nccl_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "busbar/formats/fixture.h"
#include "busbar/formats/internal/nccl_log_messages.h"

namespace busbar::formats {
namespace {

using testing::ElementsAre;

NcclLog read_log(const std::string& text) {
  LineSource source = LineSource::of_text(text, "log");
  auto log = read_nccl_log(source);
  EXPECT_TRUE(log.ok()) << log.error().text();
  return std::move(log).value();
}

TEST(NcclLog, TheCleanLogHoldsItsWholeCommunicator) {
  const NcclLog log = read_log(fixture("nccl-log/nebius-2x8-h100-sd.log"));
  ASSERT_EQ(log.versions.size(), 1u);
  EXPECT_EQ(log.versions[0].text, "2.19.3+cuda12.3");
  ASSERT_EQ(log.communicators.size(), 1u);
  const LoggedCommunicator& c = log.communicators[0];
  EXPECT_EQ(c.id, "0x753d166fb39e1659");
  EXPECT_EQ(c.ranks, 16);
  EXPECT_EQ(c.coll_channels, 16);
  EXPECT_EQ(c.nvls_channels, 16);
  EXPECT_TRUE(c.nvls);
  ASSERT_EQ(c.rings.size(), 16u);
  EXPECT_THAT(c.rings.at(0), ElementsAre(0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9));
  for (const auto& [channel, order] : c.rings) {
    EXPECT_EQ(order.size(), 16u) << channel;
    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 16u) << channel;
  }
  ASSERT_EQ(c.members.size(), 16u);
  EXPECT_EQ(c.members.at(0).bus_id, "8d000");
  EXPECT_EQ(c.members.at(0).trees.at(0).up, -1);
  EXPECT_EQ(c.members.at(0).trees.at(0).down[1], 8);
  EXPECT_EQ(log.hosts.size(), 2u);
  EXPECT_EQ(log.ib_devices.size(), 8u);
  EXPECT_TRUE(log.ib_devices[0].sharp);
}

TEST(NcclLog, TreesOfACommunicatorFitTogether) {
  const NcclLog log = read_log(fixture("nccl-log/nebius-2x8-h100-sd.log"));
  const LoggedCommunicator& c = log.communicators.at(0);
  for (const auto& [rank, member] : c.members)
    for (std::size_t channel = 0; channel < member.trees.size(); ++channel)
      for (const int child : member.trees[channel].down) {
        if (child < 0) continue;
        EXPECT_EQ(c.members.at(child).trees.at(channel).up, rank) << rank << " on channel " << channel;
      }
}

TEST(NcclLog, ConnectionsTellTheNicOfARankAndWhoSendsForIt) {
  const NcclLog log = read_log(fixture("nccl-log/nebius-2x8-h100-sd.log"));
  std::size_t proxied = 0, own = 0;
  for (const auto& [rank, member] : log.communicators.at(0).members)
    for (const LoggedNic& n : member.sends) {
      EXPECT_TRUE(n.gpudirect);
      (n.proxy == rank ? own : proxied) += 1;
    }
  EXPECT_GT(own, 0u);
  EXPECT_GT(proxied, 0u);
}

TEST(NcclLog, OldReleasesWithoutIdsGiveTheirCommunicatorsToo) {
  const NcclLog log = read_log(fixture("nccl-log/mlperf11-dell-8xA100-pcie-bert.log"));
  EXPECT_EQ(log.versions.at(0).text, "2.11.4+cuda11.4");
  ASSERT_EQ(log.communicators.size(), 3u);
  for (const LoggedCommunicator& c : log.communicators) {
    EXPECT_EQ(c.ranks, 8);
    EXPECT_EQ(c.members.size(), 8u);
    EXPECT_EQ(c.rings.size(), 2u);
    EXPECT_EQ(c.coll_channels, 2);
  }
  EXPECT_GT(log.no_ib_line, 0);
  ASSERT_EQ(log.settings.size(), 1u);
  EXPECT_EQ(log.settings[0].name, "NCCL_P2P_LEVEL");
  EXPECT_EQ(log.settings[0].value, "PIX");
}

TEST(NcclLog, BouncingThroughTheHostShowsAsNoGpudirect) {
  const NcclLog log = read_log(fixture("nccl-log/mlperf30-dell-2x4-a100-maskrcnn.log"));
  bool direct = false, bounced = false;
  for (const LoggedText& t : log.transports) {
    if (!t.text.starts_with("NET/")) continue;
    (t.text.find("GDRDMA") != t.text.npos ? direct : bounced) = true;
  }
  EXPECT_TRUE(bounced);
  EXPECT_FALSE(direct);
}

TEST(NcclLog, EverySampleIsReadAndFewMessagesAreBroken) {
  for (const auto& file : std::filesystem::directory_iterator("tests/fixtures/nccl-log")) {
    const NcclLog log = read_log(fixture("nccl-log" / file.path().filename()));
    EXPECT_GT(log.messages, 0u) << file.path();
    EXPECT_LT(log.broken * 20, log.messages) << file.path();
    EXPECT_LT(log.unknown.size(), 40u) << file.path();
  }
}

const char* const kPrefix = "0: host:1:2 [0] NCCL INFO ";

TEST(NcclLog, ShapesOfNewReleasesAreKnown) {
  const std::string p = kPrefix;
  const NcclLog log = read_log(
      p + "NCCL version 2.30.7+cuda13.0\n" +  //
      p + "NCCL_ALGO set by environment to Ring.\n" + p +
      "ncclCommInitRankConfig comm 0x1 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 3b000 commId 0xab - Init START\n" + p +
      "comm 0x1 rank 1 nRanks 2 nNodes 1 localRanks 2 localRank 1 MNNVL 0\n" +  //
      p + "Channel 00/02 :  0  1\n" +                                           //
      p + "Pattern 4, crossNic 0, nChannels 8, bw 40.000000/30.000000, type NVL/PIX, sameChannels 0\n" + p +
      " 0 : NET/0-0 GPU/0-18000 GPU/0-3a000 NET/0-0\n" +   //
      p + "=== System : maxBw 48.0 totalBw 370.8 ===\n" +  //
      p + "CPU/0-0 (1/1/3)\n" +                            //
      p + "==========================================\n" + p +
      "GPU/0-18000 :GPU/0-18000 (0/5000.0/LOC) NET/0-0 (3/48.0/PIX) \n" + p +
      "Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/4(0)/GDRDMA/Shared\n" + p +
      "AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}\n" + p +
      "16 coll channels, 0 collnet channels, 16 nvls channels, 16 p2p channels, 2 p2p channels per peer\n" + p +
      "Something 12 new 0xbeef\n" + "host:1:2 [0] net.cc:10 NCCL WARN Call to connect failed\n");
  EXPECT_EQ(log.settings.at(0).value, "Ring");
  const LoggedCommunicator& c = log.communicators.at(0);
  EXPECT_EQ(c.nodes, 1);
  EXPECT_EQ(c.nvls_channels, 16);
  EXPECT_THAT(c.members.at(1).sends, ElementsAre(LoggedNic{0, 4, 0, true}));
  ASSERT_EQ(log.graphs.size(), 1u);
  EXPECT_EQ(log.graphs[0].bw_inter, 30);
  EXPECT_THAT(log.graphs[0].orders, ElementsAre("NET/0-0 GPU/0-18000 GPU/0-3a000 NET/0-0"));
  EXPECT_EQ(log.system.size(), 2u);
  ASSERT_EQ(log.paths.size(), 2u);
  EXPECT_EQ(log.paths[1].type, "PIX");
  EXPECT_EQ(log.choices.at(0).protocol, "LL128");
  EXPECT_EQ(log.choices[0].last_channel, 15);
  EXPECT_EQ(log.warnings.at(0).text, "Call to connect failed");
  EXPECT_THAT(log.unknown, ElementsAre(UnknownPart{15, "Something # new 0x#", 1}));
  EXPECT_EQ(log.broken, 0u);
}

TEST(NcclLog, MessagesBrokenOffAreCountedAndNotTrusted) {
  const std::string p = kPrefix;
  const NcclLog log = read_log(p + "Channel 00/02 :    0   1   2\n" +                                             //
                               p + "Channel 01/02 :    0   1Setting up\n" +                                       //
                               p + "Channel 00/0 : 9[1] -> 0[0] [send] via NET/IB/4/GDhost:3:4 [1] NCCL INFO " +  //
                               "Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM\n" +                                    //
                               p + "comm 0x1 rank 7 nranks 16 cudaDev 7 nvmlSetting up - Init START\n" +          //
                               p + "Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0-\n");
  EXPECT_EQ(log.broken, 4u);
  EXPECT_EQ(log.transports.size(), 1u);
  EXPECT_EQ(log.messages, 6u);
}

TEST(NcclLog, AFileWithoutNcclIsRefused) {
  LineSource source = LineSource::of_text("hello\nworld\n", "note.txt");
  EXPECT_THAT(read_nccl_log(source).error().text(), testing::HasSubstr("note.txt: no line of NCCL"));
}

TEST(NcclLog, OneLineMayHoldAnyNumberOfMessages) {
  std::string line;
  for (int i = 0; i < 200'000; ++i) line += " NCCL INFO ";
  EXPECT_GT(read_log(kPrefix + line).broken, 1000u);
}

}  // namespace
}  // namespace busbar::formats
