// One file and one entry in the registry are enough: the algorithm is proved, simulated and run for real.
#include <gtest/gtest.h>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/verify.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/random_machine.h"
#include "busbar/runtime/session.h"

namespace busbar {
namespace {

TEST(ANewAlgorithm, IsProvedSimulatedAndRunForReal) {
  collectives::ScheduleSpec spec;
  spec.algorithm = "bidirectional_ring";
  spec.op = collectives::Collective::kAllReduce;
  spec.ranks = 8;
  const collectives::Schedule schedule = collectives::build_schedule(spec).value();
  EXPECT_TRUE(collectives::verify(schedule).ok());

  const topology::Topology machine = lowering::one_switch(8).seal();
  const routing::Router router(machine, topology::RoutingPolicy::kSpray);
  const routing::Placement placement(router, machine.gpus());
  const auto engine = engine::make_flow_engine(router, placement, {});
  const auto call = engine->prepare(lowering::test_call(8, spec.algorithm, 1 << 20, 0)).value();
  EXPECT_GT(engine->time_alone(call), Duration());

  const auto plan = runtime::plan_in_pieces(schedule, 1 << 20, 64 << 10, false).value();
  const runtime::Executable program = runtime::compile(plan, {}).value();
  const std::size_t floats = (1 << 20) / sizeof(float) / plan.chunks;
  for (const auto transport : {runtime::Transport::kThreads, runtime::Transport::kShm}) {
    const auto results = runtime::run_tasks({{&program, {.chunk_elements = floats}}}, {transport});
    EXPECT_EQ(results.value().front().wrong, 0u);
    EXPECT_GT(results.value().front().slowest_s(), 0);
  }
}

}  // namespace
}  // namespace busbar
