#include "busbar/runtime/message_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/runtime/session.h"

namespace busbar::runtime {
namespace {

using program::MessageGraph;
using program::TaskEvent;

/// 0 -> 1 -> 2 -> 0, each after the one before, then work on rank 0 and a message of another size in the other
/// direction.
MessageGraph there_and_back() {
  MessageGraph g;
  g.ranks = 3;
  const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
    g.tasks.push_back({from, to, Bytes{bytes}});
    if (g.tasks.size() > 1)
      g.after.values.push_back({static_cast<std::uint32_t>(g.tasks.size() - 2), TaskEvent::kDone});
    g.after.close_row();
  };
  add(0, 1, 3000);
  add(1, 2, 3000);
  add(2, 0, 3000);
  add(0, 0, 0);
  add(0, 2, 1000);
  return g;
}

TEST(MessageProgram, MovesEachMessageOnceInTheOrderOfTheGraph) {
  const MessageProgram p = compile_messages(there_and_back()).value();
  EXPECT_EQ(p.unit_bytes, 1000u);
  std::uint32_t chunks = 0;
  for (const auto& s : p.program.plan.steps) chunks += s.count;
  EXPECT_EQ(chunks, 3u + 3 + 3 + 1);
  Task task{&p.program, {ElementType::kInt8, Reduction::kSum, p.unit_bytes}, 20, 1, false, true};
  for (const Transport t : {Transport::kThreads, Transport::kShm, Transport::kTcp}) {
    const auto results = run_tasks({task}, {t});
    ASSERT_TRUE(results.ok()) << results.error().text();
    EXPECT_GT(results->front().slowest_s(), 0);
    if (t != Transport::kThreads) continue;
    const auto& steps = results->front().steps;
    for (std::uint32_t s = 0; s < steps.size(); ++s)
      for (const std::uint32_t a : p.program.plan.after.row(s)) EXPECT_LE(steps[a].end_ns, steps[s].end_ns);
  }
}

TEST(MessageProgram, MessagesThatWaitForEachOtherAndSwitchesAreRefused) {
  MessageGraph ring;
  ring.ranks = 2;
  for (std::uint32_t t = 0; t < 2; ++t) {
    ring.tasks.push_back({t, 1 - t, Bytes{1}});
    ring.after.values.push_back({1 - t, TaskEvent::kDone});
    ring.after.close_row();
  }
  EXPECT_THAT(compile_messages(ring).error().text(), testing::HasSubstr("wait for each other in a ring"));
  MessageGraph hub;
  hub.ranks = 2;
  hub.tasks.push_back({0, program::MessageTask::kSwitch, Bytes{1}});
  hub.after.close_row();
  EXPECT_THAT(compile_messages(hub).error().text(), testing::HasSubstr("switch"));
}

TEST(MessageProgram, MessagesOfManySizesAreRoundedUpByLittle) {
  MessageGraph g;
  g.ranks = 2;
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{10'000'019}, std::uint64_t{0}}) {
    g.tasks.push_back({0, 1, Bytes{bytes}});
    g.after.close_row();
  }
  const MessageProgram p = compile_messages(g).value();
  EXPECT_LT(p.unit_bytes, 10'000'019u / 1000);
  std::vector<std::uint32_t> counts;
  for (const auto& s : p.program.plan.steps) counts.push_back(s.count);
  std::sort(counts.begin(), counts.end());
  EXPECT_THAT(counts, testing::ElementsAre(0, 0, 0, 0, 1, 1024));
}

}  // namespace
}  // namespace busbar::runtime
