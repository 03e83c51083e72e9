#include "busbar/formats/internal/astra_ns3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/topology/topology.h"

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

Ns3Topology read(const std::string& text) {
  auto t = read_ns3_topology(text, "t.txt");
  EXPECT_TRUE(t.ok()) << t.error().text();
  return std::move(t).value();
}
std::string refusal(const std::string& text) { return read_ns3_topology(text, "t.txt").error().text(); }

TEST(AstraNs3, ReadsNpusAroundASwitch) {
  const Ns3Topology t = read("3 1 2\n2\n2 0 400Gbps 0.0005ms 0\n2 1 100Mbps 2us 0\n");
  EXPECT_EQ(t.is_switch, (std::vector<bool>{false, false, true}));
  ASSERT_EQ(t.links.size(), 2u);
  EXPECT_EQ(t.links[0].rate, BytesPerSecond{50'000'000'000});
  EXPECT_EQ(t.links[0].latency, Duration::ps(500'000));
  EXPECT_EQ(t.links[1].rate, BytesPerSecond{12'500'000});
  const ImportedMachine m = machine_of(t).value();
  EXPECT_EQ(m.topology.gpus().size(), 2u);
  EXPECT_EQ(m.topology.link_count(), 4u) << "two directions";
}

TEST(AstraNs3, ReadsARingWithoutSwitches) {
  const Ns3Topology t = read("3 0 3\n\n0 1 25Gbps 0.005ms 0\n1 2 25Gbps 0.005ms 0\n2 0 25Gbps 0.005ms 0\n");
  EXPECT_EQ(machine_of(t).value().topology.gpus().size(), 3u);
}

TEST(AstraNs3, NpusAreNumberedPastSwitchesThatStandAmongThem) {
  const ImportedMachine m = machine_of(read("3 1 2\n1\n0 1 1Gbps 1us 0\n2 1 1Gbps 1us 0\n")).value();
  EXPECT_EQ(m.devices[0].rank, 0);
  EXPECT_EQ(m.devices[1].rank, -1);
  EXPECT_EQ(m.devices[2].rank, 1);
}

TEST(AstraNs3, UnusedPartsAreListed) {
  const Ns3Topology t = read("2 0 1\n0 1 1Gbps 1us 0.01\nmore\n");
  ASSERT_EQ(t.unknown.size(), 2u);
  EXPECT_EQ(t.unknown[0], (UnknownPart{2, "error rate of a link", 1}));
  EXPECT_EQ(t.unknown[1], (UnknownPart{3, "line after the last link", 1}));
}

TEST(AstraNs3, WrongOnesNameTheLine) {
  EXPECT_THAT(refusal(""), HasSubstr("needs the numbers of nodes, switches and links"));
  EXPECT_THAT(refusal("2 2 1\n"), HasSubstr("t.txt:1: needs fewer switches"));
  EXPECT_THAT(refusal("99999 0 1\n"), HasSubstr("needs 1 to 8192 nodes"));
  EXPECT_THAT(refusal("3 1 2\n3\n"), HasSubstr("t.txt:2: switch 3 is not one of the 3 nodes"));
  EXPECT_THAT(refusal("3 2 2\n2 2\n"), HasSubstr("switch 2 is listed twice"));
  EXPECT_THAT(refusal("3 1 2\n1 2\n"), HasSubstr("lists more than 1 switches"));
  EXPECT_THAT(refusal("2 0 1\n0 2 1Gbps 1us 0\n"), HasSubstr("t.txt:2: 2 is not one of the 2 nodes"));
  EXPECT_THAT(refusal("2 0 1\n1 1 1Gbps 1us 0\n"), HasSubstr("links node 1 to itself"));
  EXPECT_THAT(refusal("2 0 1\n0 1 1 1us 0\n"), HasSubstr("t.txt:2: '1' has no unit"));
  EXPECT_THAT(refusal("2 0 1\n0 1 1Gbps 1 0\n"), HasSubstr("'1' has no unit"));
  EXPECT_THAT(refusal("2 0 2\n0 1 1Gbps 1us 0\n"), HasSubstr("ends after 1 of 2 links"));
  EXPECT_THAT(refusal("4 0 2\n0 1 1Gbps 1us 0\n2 3 1Gbps 1us 0\n"), HasSubstr("no links lead from node 0 to node 2"));
}

TEST(AstraNs3, IsToldFromOtherText) {
  EXPECT_TRUE(looks_like_ns3_topology("9 1 8\n8\n8 0 400Gbps 0.0005ms 0\n"));
  EXPECT_FALSE(looks_like_ns3_topology("9 1 8\n"));
  EXPECT_FALSE(looks_like_ns3_topology("136 8 32 1 400 H100\n0 1 400Gbps\n"));
}

}  // namespace
}  // namespace busbar::formats
