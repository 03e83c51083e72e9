#include "busbar/plan/many_batches.h"

#include <gtest/gtest.h>

#include "busbar/plan/test_machine.h"
#include "busbar/workload/test_models.h"

namespace busbar::plan {
namespace {

using workload::LayoutSpec;
using workload::PipelineSchedule;

LayoutSpec resolved(LayoutSpec layout, const workload::ModelSpec& model) {
  return workload::resolve_layout(std::move(layout), model, 16).value();
}

LayoutSpec eight_experts_apart(std::uint32_t global) {
  LayoutSpec l;
  l.tp = 2, l.ep = 8, l.batch.global = global;
  return l;
}

LayoutSpec pipeline(PipelineSchedule schedule, std::uint32_t pp, std::uint32_t vpp, std::uint32_t global) {
  LayoutSpec l;
  l.tp = 4, l.pp = pp, l.vpp = vpp, l.batch.global = global;
  l.schedule = schedule;
  return l;
}

TEST(ManyBatches, TakeTheTimeOfTwoShorterSteps) {
  PlanMachine m("dgx-h100:2");
  const workload::ModelSpec model = workload::small_experts();
  for (const LayoutSpec& asked :
       {eight_experts_apart(8 * 70), pipeline(PipelineSchedule::k1F1B, 2, 1, 2 * 140),
        pipeline(PipelineSchedule::k1F1B, 2, 2, 2 * 130), pipeline(PipelineSchedule::kGPipe, 4, 1, 270),
        pipeline(PipelineSchedule::kZbH1, 2, 1, 2 * 150), pipeline(PipelineSchedule::kDualPipeV, 2, 2, 2 * 134)}) {
    const LayoutSpec layout = resolved(asked, model);
    std::uint32_t most = 0;
    const auto time = [&](const LayoutSpec& l) -> Result<Duration> {
      most = std::max(most, l.micro_batches());
      BUSBAR_ASSIGN(const step::StepResult step, m.time(model, l));
      return step.step_time;
    };
    const double known = time(layout).value().in_s();
    most = 0;
    EXPECT_NEAR(time_of_many(layout, time).value().in_s(), known, 1e-3 * known) << layout.pp << "x" << layout.vpp;
    EXPECT_LE(most, 16 * layout.pp);
  }
}

TEST(ManyBatches, AFewAreAllTimed) {
  LayoutSpec layout;
  layout.pp = 2, layout.dp = 1, layout.batch.global = 2 * 64;
  std::vector<std::uint32_t> timed;
  const auto time = [&](const LayoutSpec& l) -> Result<Duration> {
    timed.push_back(l.micro_batches());
    return Duration::ps(l.micro_batches());
  };
  EXPECT_EQ(time_of_many(layout, time).value(), Duration::ps(128));
  EXPECT_EQ(timed, std::vector<std::uint32_t>{128});
  layout.batch.global += 2;
  EXPECT_EQ(time_of_many(layout, time).value(), Duration::ps(130));
  EXPECT_EQ(timed, (std::vector<std::uint32_t>{128, 16, 32}));
}

}  // namespace
}  // namespace busbar::plan
