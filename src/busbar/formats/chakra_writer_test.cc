#include "busbar/formats/chakra_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <tuple>

#include "busbar/collectives/builders.h"
#include "busbar/formats/comm_trace.h"

namespace busbar::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::vector<TraceNode>> chakra_read_back(const program::MessageGraph& g) {
  std::vector<std::vector<TraceNode>> out;
  for (const std::string& file : write_chakra(g).value()) {
    EXPECT_TRUE(looks_like_chakra(file));
    std::istringstream in(file);
    out.push_back(read_chakra_nodes(in, "t.et", false).value());
  }
  return out;
}

TEST(ChakraWriter, WorkAndMessagesKeepTheirDependencies) {
  // Rank 0 computes and sends; rank 1 sends on what it receives; rank 0 then computes again.
  const program::MessageGraph g{
      2,
      {{0, 0, {}, Duration::us(3)}, {0, 1, Bytes{500}}, {1, 0, Bytes{7}}, {0, 0, {}, Duration::ps(1)}},
      {{0, 0, 1, 2, 4},
       {{0, program::TaskEvent::kDone},
        {1, program::TaskEvent::kDone},
        {1, program::TaskEvent::kSent},
        {2, program::TaskEvent::kDone}}}};
  const auto ranks = chakra_read_back(g);
  ASSERT_EQ(ranks.size(), 2u);
  ASSERT_EQ(ranks[0].size(), 4u);
  EXPECT_EQ(ranks[0][0].kind, TraceNodeKind::kWork);
  EXPECT_EQ(ranks[0][0].work, Duration::us(3));
  EXPECT_EQ(ranks[0][1].kind, TraceNodeKind::kSend);
  EXPECT_EQ(ranks[0][1].peer, 1u);
  EXPECT_EQ(ranks[0][1].call.bytes, 500u);
  EXPECT_THAT(ranks[0][1].after, ElementsAre(0));
  EXPECT_EQ(ranks[0][2].kind, TraceNodeKind::kReceive);
  EXPECT_THAT(ranks[0][2].after, IsEmpty());
  EXPECT_EQ(ranks[0][3].work, Duration::us(1));       // rounded up
  EXPECT_THAT(ranks[0][3].after, ElementsAre(1, 2));  // its send, and the receive
  ASSERT_EQ(ranks[1].size(), 2u);
  EXPECT_EQ(ranks[1][0].kind, TraceNodeKind::kReceive);
  EXPECT_EQ(ranks[1][0].peer, 0u);
  EXPECT_THAT(ranks[1][1].after, ElementsAre(0));
}

TEST(ChakraWriter, AnEventOfAnotherRankIsTold) {
  const program::MessageGraph g{3, {{0, 1, Bytes{8}}, {2, 1, Bytes{8}}}, {{0, 0, 1}, {{0, program::TaskEvent::kDone}}}};
  const auto ranks = chakra_read_back(g);
  ASSERT_EQ(ranks[2].size(), 2u);  // its send, and the receive of what rank 1 tells
  EXPECT_EQ(ranks[2][1].kind, TraceNodeKind::kReceive);
  EXPECT_EQ(ranks[2][1].call.bytes, 1u);
  EXPECT_THAT(ranks[2][0].after, ElementsAre(1));
  EXPECT_THAT(ranks[1].back().after, ElementsAre(0));
}

TEST(ChakraWriter, EveryMessageOfASchedulesHasItsTwoEnds) {
  for (const char* algorithm : {"ring", "tree", "halving_doubling", "direct"}) {
    const collectives::Schedule s =
        collectives::build_schedule(algorithm, collectives::Collective::kAllReduce, 8, 1, 0).value();
    const program::MessageGraph g =
        program::messages_of(collectives::plan_of(s, false).value(), Bytes{8'000'003}, 2).value();
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint64_t> sent, received;
    std::uint64_t bytes = 0, bytes_back = 0;
    for (const program::MessageTask& t : g.tasks) bytes += count(t.bytes);
    const auto ranks = chakra_read_back(g);
    for (std::uint64_t r = 0; r < ranks.size(); ++r)
      for (const TraceNode& n : ranks[r]) {
        if (n.kind == TraceNodeKind::kSend) bytes_back += sent[{r, n.peer, n.tag}] = n.call.bytes;
        if (n.kind == TraceNodeKind::kReceive) received[{n.peer, r, n.tag}] = n.call.bytes;
      }
    EXPECT_EQ(sent, received) << algorithm;
    EXPECT_EQ(bytes, bytes_back) << algorithm;
  }
}

TEST(ChakraWriter, WhatChakraLacksIsRefused) {
  const program::MessageGraph by_switch{1, {{0, program::MessageTask::kSwitch, Bytes{8}}}, {{0, 0}, {}}};
  EXPECT_THAT(write_chakra(by_switch).error().text(), HasSubstr("no switches that reduce"));
  const program::MessageGraph at_start{1, {{0, 0}, {0, 0}}, {{0, 0, 1}, {{0, program::TaskEvent::kStarted}}}};
  EXPECT_THAT(write_chakra(at_start).error().text(), HasSubstr("waits for the start"));
}

}  // namespace
}  // namespace busbar::formats
