#include "busbar/runtime/executable.h"

#include <gtest/gtest.h>

#include "busbar/collectives/every_schedule.h"
#include "busbar/runtime/internal/messages.h"

namespace busbar::runtime {
namespace {

/// Out of place and in place, schedules of up to six ranks.
void for_every_plan(
    const std::function<void(const collectives::BuiltCase&, bool, const collectives::ExecutionPlan&)>& f) {
  collectives::for_every_schedule([&](const collectives::BuiltCase& c) {
    if (c.schedule.ranks > 6) return;
    for (const bool in_place : {false, true}) {
      if (in_place && c.schedule.op == collectives::Collective::kAllToAllV) continue;
      const collectives::ExecutionPlan plan = collectives::plan_with_reducers(c.schedule, in_place).value();
      if (collectives::prove(plan).ok()) f(c, in_place, plan);
    }
  });
}

TEST(Messages, NoneAreNeededInSharedMemoryOutOfPlace) {
  int direct = 0;
  for_every_plan([&](const collectives::BuiltCase& c, bool in_place, const collectives::ExecutionPlan& plan) {
    if (in_place) return;
    const auto proof = collectives::prove(without_messages(plan));
    ASSERT_TRUE(proof.ok()) << c.text() << ": " << proof.error().text();
    ++direct;
  });
  EXPECT_GT(direct, 100);
}

TEST(Messages, TakeTurnsInSlotsOfEveryPlan) {
  std::size_t saved = 0;
  for_every_plan([&](const collectives::BuiltCase& c, bool in_place, const collectives::ExecutionPlan& plan) {
    for (const std::uint32_t slots : {1u, 2u}) {
      const collectives::ExecutionPlan slotted = with_slots(plan, slots);
      const auto proof = collectives::prove(slotted);
      if (slots == 2) {
        ASSERT_TRUE(proof.ok()) << c.text() << in_place << ": " << proof.error().text();
      }
      for (std::uint32_t a = 0; a < plan.actors(); ++a) saved += plan.messages[a] - slotted.messages[a];
    }
  });
  EXPECT_GT(saved, 1000u);
}

TEST(Messages, GoStraightToWhereTheyWouldBeCopied) {
  std::size_t messages = 0, left = 0;
  for_every_plan([&](const collectives::BuiltCase& c, bool in_place, const collectives::ExecutionPlan& plan) {
    const collectives::ExecutionPlan put = with_puts(plan).value();
    const auto proof = collectives::prove(with_slots(put, 2));
    ASSERT_TRUE(proof.ok()) << c.text() << in_place << ": " << proof.error().text();
    const auto of = [](const collectives::ExecutionPlan& p) {
      return std::count_if(p.writes.values.begin(), p.writes.values.end(),
                           [](const auto& w) { return w.buffer == collectives::PlanBuffer::kMessage; });
    };
    messages += static_cast<std::size_t>(of(plan));
    left += static_cast<std::size_t>(of(put));
    if (c.schedule.op == collectives::Collective::kAllGather && c.schedule.algorithm == "ring")
      EXPECT_EQ(of(put), 0) << c.text() << in_place;
  });
  EXPECT_LT(left, messages * 2 / 3);
}

TEST(Executable, EveryWaitIsForAStepThatThePlanHas) {
  for_every_plan([&](const collectives::BuiltCase& c, bool, const collectives::ExecutionPlan& plan) {
    for (const bool shared : {false, true}) {
      const auto x = compile(plan, {shared, true});
      ASSERT_TRUE(x.ok()) << c.text() << ": " << x.error().text();
      for (const Wait& w : x->waits.values) ASSERT_LE(w.steps, x->steps_of(w.thread)) << c.text();
      ASSERT_EQ(x->waits.rows(), x->plan.steps.size());
      ASSERT_EQ(x->earlier.rows(), x->plan.steps.size());
      if (!shared) {
        EXPECT_FALSE(x->reads_others) << c.text();
        EXPECT_FALSE(x->writes_others) << c.text();
      }
    }
  });
}

TEST(Executable, LargeBuffersMoveInPieces) {
  const collectives::Schedule ring = collectives::build_ring(collectives::Collective::kAllReduce, 4).value();
  EXPECT_EQ(plan_in_pieces(ring, 4 << 10, 64 << 10, false)->chunks, 4u);
  EXPECT_EQ(plan_in_pieces(ring, 1 << 20, 64 << 10, false)->chunks, 16u);
}

}  // namespace
}  // namespace busbar::runtime
