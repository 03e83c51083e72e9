#include "busbar/plan/internal/longest_path.h"

#include <gtest/gtest.h>

#include "busbar/predict/predictor.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/step/run_program.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/test_models.h"

namespace busbar::plan {
namespace {

TEST(LongestPath, IsTheTimeOfARunInWhichNothingIsShared) {
  const auto machine =
      predict::Predictor::make(spec::load_cluster("dgx-h100:2").value(), {}, {.engine = "analytic"}).value();
  const workload::KernelTable kernels = spec::load_kernels(machine->cluster(), spec::Catalog("")).value();
  for (const workload::PipelineSchedule schedule :
       {workload::PipelineSchedule::k1F1B, workload::PipelineSchedule::kGPipe, workload::PipelineSchedule::kZbH1,
        workload::PipelineSchedule::kZbV})
    for (const std::uint32_t zero : {0u, 1u, 3u}) {
      workload::LayoutSpec asked;
      asked.tp = 2;
      asked.pp = 2;
      asked.vpp = schedule == workload::PipelineSchedule::k1F1B || schedule == workload::PipelineSchedule::kZbV ? 2 : 1;
      asked.sharding.zero = zero;
      asked.schedule = schedule;
      asked.batch.global = 32;
      const workload::ModelSpec model = workload::small_model();
      const workload::LayoutSpec layout = workload::resolve_layout(asked, model, 16).value();
      program::Program program = workload::build_program(model, layout, kernels).value();
      ASSERT_TRUE(machine->prepare(program).ok());
      const auto engine = machine->open_engine();
      std::vector<Duration> calls;
      for (const program::CollectiveCall& call : program.calls)
        calls.push_back(engine->time_alone(*engine->prepare(call)));
      EXPECT_EQ(longest_path(program, calls), step::run_program(program, *engine, workload::Contention{})->length)
          << workload::name_of(schedule) << " zero " << zero;
    }
}

}  // namespace
}  // namespace busbar::plan
