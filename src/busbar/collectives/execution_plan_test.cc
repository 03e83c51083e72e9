#include "busbar/collectives/execution_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "busbar/base/id.h"
#include "busbar/base/random.h"
#include "busbar/collectives/every_schedule.h"
#include "busbar/collectives/verify.h"

namespace busbar::collectives {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// Schedules of up to 12 ranks without reducers, both out of place and in place (all_to_allv: out of place).
void for_every_plan(const std::function<void(const BuiltCase&, bool)>& f) {
  const auto offer = [&](const BuiltCase& c) {
    if (c.schedule.ranks > 12 || c.schedule.reducers > 0) return;
    for (const bool in_place : {false, true})
      if (!in_place || c.schedule.op != Collective::kAllToAllV) f(c, in_place);
  };
  for_every_schedule(offer);
  for_every_variant(offer);
}

TEST(ExecutionPlan, OfEveryScheduleIsProved) {
  std::map<std::string, int> in_place_refused, proved;
  for_every_plan([&](const BuiltCase& c, bool in_place) {
    const auto plan = plan_of(c.schedule, in_place);
    ASSERT_TRUE(plan.ok()) << c.text() << ": " << plan.error().text();
    const auto proof = prove(*plan);
    if (in_place && !proof.ok())
      ++in_place_refused[c.schedule.algorithm + " " + name_of(c.schedule.op)];
    else
      ASSERT_TRUE(proof.ok()) << c.text() << (in_place ? " in place: " : ": ") << proof.error().text();
    proved[c.schedule.algorithm + " " + name_of(c.schedule.op)] += proof.ok();
  });
  EXPECT_GT(proved.size(), 40u);
  // In place, received data would overwrite data not sent yet.
  for (const auto& [name, count] : in_place_refused)
    EXPECT_THAT(name, AnyOf(HasSubstr("all_to_all"), HasSubstr("send_recv"))) << count;
}

TEST(ExecutionPlan, WithSwitchesThatReduceIsProvedToo) {
  int proved = 0;
  for_every_schedule([&](const BuiltCase& c) {
    if (c.schedule.ranks > 12 || c.schedule.reducers == 0) return;
    EXPECT_FALSE(plan_of(c.schedule, false).ok()) << c.text();
    const ExecutionPlan plan = plan_with_reducers(c.schedule, false).value();
    const auto proof = prove(plan);
    ASSERT_TRUE(proof.ok()) << c.text() << ": " << proof.error().text();
    EXPECT_EQ(chunks_in(plan, plan.ranks, PlanBuffer::kInput), 0u);
    ++proved;
  });
  EXPECT_GT(proved, 50);
}

// Ranks 0 to 2: what goes where, in chunks; rank 1 sends most, 5, and rank 2 receives most, 6.
TEST(ExecutionPlan, AnAllToAllVSaysWhereEachPairsChunksLie) {
  ScheduleSpec spec{.algorithm = "direct", .op = Collective::kAllToAllV, .ranks = 3};
  spec.pairs.begin = {0, 1, 1, 3, 4, 6, 8, 8, 9, 11};  // 1 0 2 | 1 2 2 | 0 1 2
  const ExecutionPlan plan = plan_of(build_schedule(spec).value(), false).value();
  EXPECT_EQ(input_chunks(plan), 5u);
  EXPECT_EQ(output_chunks(plan), 6u);
  EXPECT_EQ(chunk_of_input(plan, 1, 2), 5u);
  EXPECT_EQ(chunk_of_input(plan, 0, 3), kNone32);  // rank 0 has 3
  EXPECT_EQ(chunk_of_output(plan, 2, 0), 1u);
  EXPECT_EQ(chunk_of_output(plan, 2, 2), 6u);  // the first from rank 1
  EXPECT_EQ(chunk_of_output(plan, 0, 2), kNone32);
  EXPECT_EQ(prove(plan)->sends, 4u);
  EXPECT_FALSE(plan_of(build_schedule(spec).value(), true).ok());
}

ExecutionPlan ring_plan() { return plan_of(build_ring(Collective::kAllReduce, 4).value(), true).value(); }

TEST(ExecutionPlan, CountsStepsAndTheLongestChain) {
  const ExecutionPlan plan = ring_plan();
  const PlanProof proof = prove(plan).value();
  EXPECT_EQ(proof.steps, 2u * 4 * 6);  // a send and a receive, 4 ranks, 2(n-1) rounds
  EXPECT_EQ(proof.sends, 4u * 6);
  EXPECT_EQ(proof.depth, 6u);
}

/// The same plan without the waits of `step`.
ExecutionPlan without_waiting(ExecutionPlan p, std::uint32_t step) {
  Csr<std::uint32_t> after;
  for (std::uint32_t s = 0; s < p.after.rows(); ++s) {
    if (s != step)
      for (const std::uint32_t a : p.after.row(s)) after.values.push_back(a);
    after.close_row();
  }
  p.after = after;
  return p;
}

// A ring in place needs every wait: without it a chunk may be sent before it is summed up, or be read before it has
// arrived.
TEST(ExecutionPlan, EveryWaitOfARingIsNeeded) {
  const ExecutionPlan plan = ring_plan();
  int tried = 0;
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.after.row(s).empty()) continue;
    const auto proof = prove(without_waiting(plan, s));
    ASSERT_FALSE(proof.ok()) << "step " << s;
    EXPECT_THAT(proof.error().message, AnyOf(HasSubstr("in no defined order with"), HasSubstr("which is empty")));
    ++tried;
  }
  EXPECT_GT(tried, 30);
}

TEST(ExecutionPlan, AStepLeftOutIsMissed) {
  for_every_plan([&](const BuiltCase& c, bool in_place) {
    if (in_place || c.schedule.ranks > 6) return;
    const ExecutionPlan plan = plan_of(c.schedule, false).value();
    if (plan.steps.empty()) return;
    RandomStream random(plan.steps.size(), "left out");
    ExecutionPlan bad = plan;
    const auto s = static_cast<std::uint32_t>(random.below(plan.steps.size()));
    for (std::uint32_t i = plan.reads.begin[s]; i < plan.reads.begin[s + 1]; ++i) bad.reads.values[i].rank = 0xffff;
    ASSERT_FALSE(prove(bad).ok()) << c.text();
    bad = plan;
    bad.steps[s].count = 0;
    if (c.schedule.op == Collective::kBroadcast) return;  // may send the root data that it has
    ASSERT_FALSE(prove(bad).ok()) << c.text() << " without step " << s;
  });
}

TEST(ExecutionPlan, WhoWaitsForItselfIsNamed) {
  ExecutionPlan plan = ring_plan();
  plan.file = "x.xml";
  plan.steps[0].line = 7;
  plan.after.values.insert(plan.after.values.begin(), static_cast<std::uint32_t>(plan.steps.size() - 1));
  for (std::size_t i = 1; i < plan.after.begin.size(); ++i) ++plan.after.begin[i];
  const auto proof = prove(plan);
  ASSERT_FALSE(proof.ok());
  EXPECT_THAT(proof.error().text(), HasSubstr("x.xml:7: ring all_reduce: rank 0, thread 0, step 0: deadlock"));
}

TEST(ExecutionPlan, PartsMustBeWholeChunks) {
  ExecutionPlan plan = ring_plan();
  plan.op = Collective::kAllGather;
  plan.chunks = 6;
  EXPECT_THAT(prove(plan).error().message, HasSubstr("each rank's part must have whole chunks"));
}

TEST(ExecutionPlan, LanesShareEveryChunk) {
  int proved = 0;
  for_every_plan([&](const BuiltCase& c, bool in_place) {
    const ExecutionPlan plain = plan_of(c.schedule, false).value();
    if (in_place || c.schedule.ranks > 6 || prove(plain)->sends == 0) return;
    const ExecutionPlan plan = plan_of(c.schedule, false, {3, 0, 3}).value();
    EXPECT_EQ(plan.chunks, 3 * plain.chunks) << c.text();
    EXPECT_EQ(plan.channels, 3 * plain.channels) << c.text();
    const auto proof = prove(plan);
    ASSERT_TRUE(proof.ok()) << c.text() << ": " << proof.error().text();
    ++proved;
  });
  EXPECT_GT(proved, 20);
}

}  // namespace
}  // namespace busbar::collectives
