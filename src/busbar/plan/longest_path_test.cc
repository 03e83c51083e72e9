#include "busbar/plan/internal/longest_path.h"

#include <gtest/gtest.h>

#include "busbar/predict/predictor.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/step/run_program.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/test_models.h"

namespace busbar {
namespace {

TEST(LongestPath, IsTheTimeOfARunInWhichNothingIsShared) {
  const auto machine = Predictor::make(load_cluster("dgx-h100:2").value(), {}, {.engine = "analytic"}).value();
  const KernelTable kernels = load_kernels(machine->cluster(), Catalog("")).value();
  for (const PipelineSchedule schedule :
       {PipelineSchedule::k1F1B, PipelineSchedule::kGPipe, PipelineSchedule::kZbH1, PipelineSchedule::kZbV})
    for (const std::uint32_t zero : {0u, 1u, 3u}) {
      LayoutSpec asked;
      asked.tp = 2;
      asked.pp = 2;
      asked.vpp = schedule == PipelineSchedule::k1F1B || schedule == PipelineSchedule::kZbV ? 2 : 1;
      asked.sharding.zero = zero;
      asked.schedule = schedule;
      asked.batch.global = 32;
      const ModelSpec model = small_model();
      const LayoutSpec layout = resolve_layout(asked, model, 16).value();
      Program program = build_program(model, layout, kernels).value();
      ASSERT_TRUE(machine->prepare(program).ok());
      const auto engine = machine->open_engine();
      std::vector<Duration> calls;
      for (const CollectiveCall& call : program.calls) calls.push_back(engine->time_alone(*engine->prepare(call)));
      EXPECT_EQ(longest_path(program, calls), run_program(program, *engine, Contention{})->length)
          << name_of(schedule) << " zero " << zero;
    }
}

}  // namespace
}  // namespace busbar
