// Passes only shorten a program.
#include "busbar/program/passes.h"

#include <gtest/gtest.h>

#include "busbar/base/id.h"
#include "busbar/program/test_passes.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/internal/program_writer.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

void expect_equal(const program::Program& a, const program::Program& b, const std::string& what) {
  ASSERT_EQ(a.ops.size(), b.ops.size()) << what;
  EXPECT_EQ(a.calls, b.calls) << what;
  EXPECT_EQ(a.deps.begin, b.deps.begin) << what;
  EXPECT_EQ(a.deps.values, b.deps.values) << what;
  for (std::size_t i = 0; i < a.ops.size(); ++i) {
    const program::Op &x = a.ops[i], &y = b.ops[i];
    ASSERT_TRUE(x.kind == y.kind && x.cls == y.cls && x.stream == y.stream && x.label == y.label && x.role == y.role &&
                x.duration == y.duration && x.call == y.call && x.micro_batch == y.micro_batch && x.layer == y.layer)
        << what << ", operation " << i;
  }
}

std::vector<LayoutSpec> layouts() {
  std::vector<LayoutSpec> out{small_layout(8, 1, 1, 4, 3),  small_layout(2, 2, 2, 2, 4), small_layout(4, 4, 1, 1, 6),
                              small_layout(1, 1, 1, 16, 2), small_layout(1, 8, 1, 1, 2), small_layout(2, 4, 2, 2, 8)};
  const auto add = [&](auto change) {
    LayoutSpec l = small_layout(2, 4, 1, 2, 5);
    change(l);
    out.push_back(l);
  };
  add([](LayoutSpec& l) { l.schedule = PipelineSchedule::kGPipe; });
  add([](LayoutSpec& l) { l.schedule = PipelineSchedule::kZbH1; });
  LayoutSpec v = small_layout(2, 4, 2, 2, 8);
  for (const PipelineSchedule schedule : {PipelineSchedule::kZbV, PipelineSchedule::kDualPipeV}) {
    v.schedule = schedule;
    out.push_back(v);
  }
  add([](LayoutSpec& l) { l.overlap.tp = true; });
  add([](LayoutSpec& l) { l.sequence_parallel = false; });
  add([](LayoutSpec& l) { l.overlap.grad_reduce = false; });
  add([](LayoutSpec& l) { l.overlap.param_gather = false; });
  add([](LayoutSpec& l) { l.recomputation.kind = Recompute::kFull; });
  for (const std::uint32_t zero : {0u, 2u, 3u}) add([&](LayoutSpec& l) { l.sharding.zero = zero; });
  return out;
}

TEST(Passes, ExpandToTheProgramThatIsWrittenWithoutThem) {
  for (const LayoutSpec& l : layouts()) {
    const StepTimes times = step_times(small_model(), l, flat_kernels());
    const program::Program with = build_program(small_model(), l, times, flat_kernels());
    const program::Program without = build_program(small_model(), l, times, flat_kernels(), false);
    EXPECT_TRUE(without.uses.empty());
    expect_equal(program::expanded(with), without,
                 std::to_string(l.pp) + " stages, ZeRO " + std::to_string(l.sharding.zero));
    if (l.micro_batches() > 2 && l.sharding.zero < 2) EXPECT_LT(with.ops.size(), without.ops.size() / 2);
  }
}

TEST(Passes, WithExpertsWhoseExchangesArePairedExpandToTheProgramWithoutThem) {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::k1F1B, PipelineSchedule::kZbH1, PipelineSchedule::kDualPipeV})
    for (const std::uint32_t vpp : {1u, 2u}) {
      if (schedule != PipelineSchedule::k1F1B && (vpp == 2) != (schedule == PipelineSchedule::kDualPipeV)) continue;
      LayoutSpec l;
      l.pp = 4, l.vpp = vpp, l.dp = 8, l.ep = 8, l.batch.seq = 1024, l.batch.global = 128, l.schedule = schedule;
      l.experts.overlap = 0.7, l.experts.exchange = ExpertExchange::kPerNode;
      ModelSpec m = small_experts();
      m.mtp = 1;
      l = resolve_layout(l, m, 0).value();
      KernelTable k = flat_kernels();
      k.scale_up_gpus = 4;
      const StepTimes times = step_times(m, l, k);
      const program::Program with = build_program(m, l, times, k);
      expect_equal(program::expanded(with), build_program(m, l, times, k, false), "experts");
      EXPECT_LT(with.ops.size(), program::expanded(with).ops.size() / 2);
    }
}

TEST(Passes, IdsLeadToPlacesAndBack) {
  for (const LayoutSpec& l : layouts()) {
    const program::Program p = build_program(small_model(), l, flat_kernels()).value();
    const program::OpIndex ids(p);
    for (std::uint32_t i = 0; i < ids.count(); ++i) ASSERT_EQ(ids.id(ids.place(program::OpId{i})), program::OpId{i});
    std::uint32_t next = 0;
    ids.for_each_piece([&](program::OpIndex::Place at) { EXPECT_EQ(ids.id(at), program::OpId{next++}); },
                       [&](std::uint32_t u) {
                         EXPECT_EQ(p.uses[u].first, program::OpId{next});
                         next += static_cast<std::uint32_t>(p.passes[p.uses[u].pass].ops.size());
                       });
    EXPECT_EQ(next, ids.count());
  }
}

TEST(Passes, OneThatWaitsForSomethingElseStaysAsItIsWritten) {
  ProgramWriter w(0, 8);
  const program::RoleId role = w.add_role("a", collectives::one_group(1));
  const auto work = [&](std::initializer_list<program::OpId> after) {
    return w.delay(role, Label::kNorm, program::OpClass::kCompute, Duration::us(1), after);
  };
  const program::OpId first = work({}), second = work({first});
  w.begin_pass(std::vector{second});
  work({first});
  EXPECT_EQ(w.end_pass(), ProgramWriter::kNoPass);
  w.begin_pass(std::vector{second});
  const program::OpId inside = work({second});
  work({inside});
  const std::uint32_t pass = w.end_pass();
  ASSERT_NE(pass, ProgramWriter::kNoPass);
  EXPECT_EQ(w.repeat_pass(pass, role, std::vector{program::OpId{4}}), program::OpId{5});
  EXPECT_EQ(w.next(), program::OpId{7});
  const program::Program p = std::move(w).finish();
  EXPECT_EQ(p.ops.size(), 3u);
  EXPECT_EQ(program::expanded(p).deps.values,
            (std::vector<program::OpId>{first, first, second, program::OpId{3}, program::OpId{4}, program::OpId{5}}));
}

}  // namespace
}  // namespace busbar::workload
