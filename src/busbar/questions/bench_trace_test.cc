#include "busbar/questions/bench_trace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/collectives/builders.h"

namespace busbar::questions {
namespace {

TEST(BenchTrace, EveryStepIsASpanThatBeginsAfterItsCauseHasEnded) {
  const runtime::Executable program =
      runtime::compile(
          collectives::plan_of(collectives::build_ring(collectives::Collective::kAllReduce, 3).value(), false).value(),
          {})
          .value();
  runtime::Task task{&program, {runtime::ElementType::kFloat, runtime::Reduction::kSum, 1000}};
  task.record = true;
  const auto results = runtime::run_tasks({task}, {}).value();
  const trace::Timeline t = timeline_of(program, task.filling.chunk_bytes(), results.front().steps);
  ASSERT_EQ(t.spans.size(), program.plan.steps.size());
  EXPECT_EQ(t.tracks.size(), program.threads());
  std::size_t caused = 0;
  for (const trace::Span& s : t.spans) {
    EXPECT_LE(s.start + s.duration, SimTime::at(t.length));
    if (s.cause == trace::kNoSpan) continue;
    const trace::Span& cause = t.spans[static_cast<std::size_t>(s.cause)];
    EXPECT_LE(cause.start + cause.duration, s.start + Duration::us(1));  // clocks of cores differ
    ++caused;
  }
  EXPECT_GT(caused, 4u);
  EXPECT_NE(std::find(t.strings.begin(), t.strings.end(), "add from 2"), t.strings.end());
}

}  // namespace
}  // namespace busbar::questions
