// Steps with sharded states, with and without pipeline stages, on a real machine: lower bounds for all sharding.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "busbar/floors/floor.h"
#include "busbar/predict/predictor.h"
#include "busbar/program/test_passes.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/spec/model_file.h"
#include "busbar/spec/scenario.h"
#include "busbar/step/simulate.h"
#include "busbar/workload/build_program.h"

namespace busbar {
namespace {

struct Machine {
  std::unique_ptr<predict::Predictor> predictor =
      predict::Predictor::make(spec::load_cluster("dgx-h100:4").value(), {}, {.engine = "analytic"}).value();
  workload::KernelTable kernels = spec::load_kernels(predictor->cluster().gpu_part, spec::Catalog()).value();
  workload::ModelSpec model = spec::read_model(spec::Catalog().load("models", "llama3-8b").value().root()).value();
};

struct Step {
  program::Program program;
  step::StepResult result;
};

Step run(const Machine& m, const workload::LayoutSpec& asked) {
  const auto layout = workload::resolve_layout(asked, m.model, 32);
  EXPECT_TRUE(layout.ok()) << layout.error().text();
  program::Program p = workload::build_program(m.model, *layout, m.kernels).value();
  EXPECT_TRUE(m.predictor->prepare(p).ok());
  const auto engine = m.predictor->open_engine();
  step::StepResult result =
      step::simulate_step(p, *engine, {.contention = m.kernels.contention, .timeline = false, .topology = nullptr})
          .value();
  return {std::move(p), std::move(result)};
}

/// Per stage: its computation alone, and its collectives of data parallelism, each at the floor of this machine, one
/// after another as on their stream.
std::map<std::uint32_t, Duration> floors(const Machine& m, const program::Program& p, program::OpKind kind) {
  std::map<program::CallId, Duration> calls;
  std::map<std::uint32_t, Duration> sums;
  const program::Program all = program::expanded(p);
  for (const program::Op& o : all.ops) {
    if (o.kind != kind || o.stream != (kind == program::OpKind::kDelay ? 0 : 2)) continue;
    Duration d = o.duration;
    if (kind == program::OpKind::kCollective) {
      const auto [at, fresh] = calls.try_emplace(o.call);
      if (fresh) at->second = m.predictor->floor(p.calls[index(o.call)]).time;
      d = at->second;
    }
    sums[index(o.role)] += d;
  }
  return sums;
}

struct Way {
  std::uint32_t zero, pp, vpp;
  bool reshard, accumulate;
};

class Sharding : public testing::TestWithParam<Way> {};

TEST_P(Sharding, NeverBeatsItsFloors) {
  const Machine m;
  const Way& w = GetParam();
  for (const bool prefetch : {true, false}) {
    workload::LayoutSpec l;
    l.tp = 2, l.pp = w.pp, l.vpp = w.vpp, l.sharding.zero = w.zero, l.sharding.reshard = w.reshard;
    l.sharding.accumulate_gradients = w.accumulate;
    l.sharding.prefetch = prefetch;
    l.batch.global = 128;
    const Step s = run(m, l);
    EXPECT_EQ(s.result.breakdown.total(), s.result.step_time);
    for (const program::OpKind kind : {program::OpKind::kDelay, program::OpKind::kCollective}) {
      const auto sums = floors(m, s.program, kind);
      EXPECT_EQ(sums.size(), w.pp);
      for (const auto& [stage, floor] : sums) EXPECT_GE(s.result.step_time, floor) << "stage " << stage;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Sharding,
                         testing::Values(Way{0, 4, 1, true, false}, Way{1, 4, 1, true, false},
                                         Way{2, 1, 1, true, false}, Way{2, 4, 1, true, false},
                                         Way{2, 4, 2, true, false}, Way{2, 4, 1, true, true}, Way{3, 1, 1, true, false},
                                         Way{3, 2, 1, true, false}, Way{3, 4, 2, true, false},
                                         Way{3, 4, 2, false, false}, Way{3, 4, 2, false, true}));

// Kept parameters and accumulated gradients move as many bytes as ZeRO-1, so they cost the same. If they are gathered
// and scattered in every pass, they cost more.
TEST(Sharding, OfParametersCostsNothingWhereTheyStayGathered) {
  const Machine m;
  const auto step = [&](std::uint32_t zero, bool kept) {
    workload::LayoutSpec l;
    l.tp = 2, l.pp = 4, l.sharding.zero = zero, l.batch.global = 128;
    l.sharding.reshard = !kept;
    l.sharding.accumulate_gradients = kept && zero >= 2;
    return run(m, l).result.step_time.in_s();
  };
  const double one = step(1, false);
  EXPECT_NEAR(step(3, true) / one, 1, 0.05);
  EXPECT_GT(step(3, false), one);
}

}  // namespace
}  // namespace busbar
