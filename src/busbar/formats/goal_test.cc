#include "busbar/formats/goal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/collectives/builders.h"
#include "busbar/formats/fixture.h"

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

Result<GoalProgram> read_program(const std::string& text) {
  LineSource lines = LineSource::of_text(text, "g.goal");
  return read_goal(lines);
}
std::string program_error(const std::string& text) {
  const auto p = read_program(text);
  if (!p.ok()) return p.error().text();
  const auto g = messages_of(*p);
  return g.ok() ? "read" : g.error().text();
}

TEST(Goal, ReadsABinomialTree) {
  const GoalProgram p = read_program(fixture("goal/binary_tree_32.goal")).value();
  EXPECT_EQ(p.ranks, 32u);
  const program::MessageGraph g = messages_of(p).value();
  std::size_t messages = 0;
  for (const program::MessageTask& t : g.tasks) messages += !t.is_work();
  EXPECT_EQ(messages, 31u);
  EXPECT_TRUE(p.unknown.empty());
}

TEST(Goal, KnowsCommentsTagsUnitsAndBothDependencies) {
  const GoalProgram p =
      read_program(
          "/* two\n ranks */ num_ranks 2 // here\nrank 0 { a: calc 1500 cpu 3\n b: send 4096b to 1 tag 7\n"
          "b irequires a }\nrank 1 {\n c: recv 4096b from -1 tag -1 nic 1 lane 2\n}\n")
          .value();
  ASSERT_EQ(p.ops.size(), 3u);
  EXPECT_EQ(p.ops[0].cpu, 3u);
  EXPECT_EQ(p.ops[1].tag, 7);
  EXPECT_EQ(p.ops[2].peer, -1);
  ASSERT_EQ(p.edges.size(), 1u);
  EXPECT_TRUE(p.edges[0].on_start);
  ASSERT_EQ(p.unknown.size(), 1u);
  EXPECT_EQ(p.unknown[0].what, "word lane");
  const program::MessageGraph g = messages_of(p).value();
  EXPECT_EQ(g.tasks[0].work, Duration::ns(1500));
  EXPECT_EQ(g.after.row(1)[0], (program::TaskEdge{0, program::TaskEvent::kStarted}));
  EXPECT_EQ(g.after.row(2)[0], (program::TaskEdge{1, program::TaskEvent::kDone}));
}

TEST(Goal, SendsMeetReceivesInOrder) {
  const std::string head = "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 1\nsend 2b to 1 tag 1\nsend 3b to 1 tag 2\n}\n";
  const auto g =
      messages_of(
          read_program(head + "rank 1 {\nrecv 3b from 0 tag 2\nrecv 1b from -1 tag 1\nrecv 2b from 0 tag 1\n}").value())
          .value();
  EXPECT_EQ(g.after.row(3)[0].task, 2u);
  EXPECT_EQ(g.after.row(4)[0].task, 1u);  // receives that name their peer choose first
  EXPECT_EQ(g.after.row(5)[0].task, 0u);
  EXPECT_THAT(program_error(head), HasSubstr("g.goal:3: rank 1 never receives this"));
  EXPECT_THAT(program_error("num_ranks 2\nrank 0 {\nrecv 1b from 1\n}"),
              HasSubstr("g.goal:3: rank 1 has no send that matches this receive"));
}

TEST(Goal, ErrorsHaveTheirLine) {
  EXPECT_THAT(program_error("num_ranks 2\nrank 2 {\n}"),
              HasSubstr("g.goal:2: 'rank' needs a number below num_ranks, 2"));
  EXPECT_THAT(program_error("num_ranks 1\nrank 0 {\nx: walk 3\n}"), HasSubstr("g.goal:3: 'walk' is not one of send"));
  EXPECT_THAT(program_error("num_ranks 1\nrank 0 {\nx: calc 3\nx: calc 4\n}"),
              HasSubstr("g.goal:4: rank 0 has label 'x' twice"));
  EXPECT_THAT(program_error("num_ranks 1\nrank 0 {\nx: calc 3\nx requires y\n}"),
              HasSubstr("g.goal:4: rank 0 has no label 'y'"));
  EXPECT_THAT(program_error("num_ranks 1\nrank 0 {\n"), HasSubstr("rank 0 is not closed"));
  EXPECT_THAT(program_error("num_ranks 2\nrank 0 {\nsend 1b to 2\n}"), HasSubstr("g.goal:3: no such rank"));
  EXPECT_THAT(program_error("// nothing\n"), HasSubstr("no 'num_ranks'"));
}

// Messages alone keep their number and bytes; each becomes a send and a receive.
TEST(Goal, SchedulesOfOursSurviveWritingAndReading) {
  for (const char* algorithm : {"ring", "tree", "halving_doubling", "direct"}) {
    collectives::ScheduleSpec spec;
    spec.algorithm = algorithm;
    spec.op = collectives::Collective::kAllReduce;
    spec.ranks = 8;
    const collectives::ExecutionPlan plan =
        collectives::plan_of(collectives::build_schedule(spec).value(), false).value();
    const program::MessageGraph g = program::messages_of(plan, Bytes{8'000'003}, 2).value();
    const program::MessageGraph back = messages_of(read_program(write_goal(g).value()).value()).value();
    std::uint64_t bytes = 0, bytes_back = 0, sends = 0, sends_back = 0;
    for (const program::MessageTask& t : g.tasks) bytes += count(t.bytes), sends += !t.is_work();
    for (const program::MessageTask& t : back.tasks) bytes_back += count(t.bytes), sends_back += !t.is_work();
    EXPECT_EQ(bytes, bytes_back) << algorithm;
    EXPECT_EQ(sends, sends_back) << algorithm;  // no 0-byte message was needed
  }
}

TEST(Goal, TheCallIsAComment) {
  const program::MessageGraph one{2, {{0, 1, Bytes{8}}}, {{0, 0}, {}}};
  program::CollectiveCall call;
  call.op = collectives::Collective::kBroadcast;
  call.algorithm = "tree";
  call.protocol = program::Protocol::kLl128;
  call.root = 1;
  call.bytes = Bytes{8};
  EXPECT_EQ(read_program(write_goal(one, &call).value())->call, call);
  EXPECT_EQ(read_program(write_goal(one).value())->call, program::CollectiveCall());
  EXPECT_EQ(read_program("// collective all_reduce of a bank\n" + write_goal(one).value())->call,
            program::CollectiveCall());
}

// What each rank does first begins after the work; what waits for another rank's message does not change.
TEST(Goal, WorkBeforeTheFirstSends) {
  const program::MessageGraph relay{
      3, {{0, 1, Bytes{8}}, {1, 2, Bytes{8}}}, {{0, 0, 1}, {{0, program::TaskEvent::kDone}}}};
  const program::MessageGraph g = program::after_work(relay, Duration::us(6));
  ASSERT_EQ(g.tasks.size(), 5u);
  EXPECT_EQ(g.tasks[2].work, Duration::us(6));
  ASSERT_EQ(g.after.row(3).size(), 1u);
  EXPECT_EQ(g.after.row(3)[0], (program::TaskEdge{0, program::TaskEvent::kDone}));
  ASSERT_EQ(g.after.row(4).size(), 1u);
  EXPECT_EQ(g.after.row(4)[0], (program::TaskEdge{3, program::TaskEvent::kDone}));
}

}  // namespace
}  // namespace busbar::formats
