#include "busbar/choice/fastest.h"

#include <gtest/gtest.h>

#include "busbar/choice/trial_times.h"
#include "busbar/collectives/builders.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/random_machine.h"

namespace busbar::choice {
namespace {

program::ProtocolModel with_flags() {
  program::ProtocolModel p;
  p.launch = Duration::us(6);
  p.step_scale_up = Duration::us(3);
  p.step_network = Duration::us(20);
  p.ll = {true, Duration::ns(200), Duration(), Duration::us(7), 0.4};
  p.ll128 = {true, Duration::ns(1400), Duration(), Duration::us(10), 0.94};
  return p;
}

struct Choice {
  topology::Topology topology = lowering::pods_of_eight(4).seal();
  routing::Router router{topology, topology::RoutingPolicy::kSpray};
  routing::Placement placement{router, topology.gpus()};
  std::unique_ptr<engine::Engine> engine() const {
    engine::EngineOptions o;
    o.protocol = with_flags();
    return engine::make_analytic_engine(router, placement, o);
  }
  /// An all-reduce over all GPUs of pod `base`/8, or over all GPUs.
  static program::CollectiveCall call(std::uint64_t bytes, std::uint32_t ranks = 32, std::uint32_t base = 0) {
    program::CollectiveCall c = lowering::test_call(ranks, "auto", bytes, 0);
    c.groups.base = base;
    return c;
  }
};

TEST(Fastest, IsTheSameOnSeveralThreads) {
  const Choice m;
  for (const char* algorithm : {"auto", "fastest"})
    for (const bool flow : {false, true})
      for (const std::uint64_t bytes : {4, 65536, 1 << 24, 1 << 30}) {
        program::CollectiveCall call = Choice::call(bytes);
        call.algorithm = algorithm;
        const auto open = [&](const routing::Router& r) {
          engine::EngineOptions o;
          o.protocol = with_flags();
          TrialHelpers::Engines out;
          out.engine =
              flow ? engine::make_flow_engine(r, m.placement, o) : engine::make_analytic_engine(r, m.placement, o);
          if (flow) out.lower_bound = engine::make_analytic_engine(r, m.placement, o);
          return out;
        };
        const auto find = [&](const TrialHelpers* helpers) {
          const TrialHelpers::Engines own = open(m.router);
          return resolve_algorithm(*own.engine, m.placement, m.topology, call, own.lower_bound.get(), helpers).value();
        };
        const program::CollectiveCall one = find(nullptr);
        for (const std::uint32_t others : {1u, 3u}) {
          const auto another = [&] {
            return std::make_unique<routing::Router>(m.topology, topology::RoutingPolicy::kSpray);
          };
          const TrialHelpers helpers{{others, another, 0}, open};
          EXPECT_EQ(find(&helpers), one) << algorithm << flow << bytes << others;
        }
      }
}

TEST(Fastest, LeavesNothingUntriedThatWouldBeFaster) {
  const Choice m;
  for (const std::uint64_t bytes : {4, 512, 513, 65536, 1 << 24, 1 << 30}) {
    const auto engine = m.engine();
    const program::CollectiveCall best =
        resolve_algorithm(*engine, m.placement, m.topology, Choice::call(bytes)).value();
    const Duration time = engine->time_alone(engine->prepare(best).value());
    for (const char* algorithm : {"ring", "tree", "hierarchical"})
      for (const program::Protocol protocol :
           {program::Protocol::kSimple, program::Protocol::kLl128, program::Protocol::kLl}) {
        if (std::string(algorithm) == "hierarchical" && protocol != program::Protocol::kSimple)
          continue;  // it has Simple only
        program::CollectiveCall other = Choice::call(bytes);
        other.algorithm = algorithm;
        other.protocol = protocol;
        EXPECT_LE(time, engine->time_alone(engine->prepare(other).value()))
            << algorithm << program::name_of(protocol) << bytes;
      }
  }
}

/// Forwards to another engine, and sets a flag with the third call that is prepared.
class StoppedEngine : public engine::Engine {
 public:
  StoppedEngine(std::unique_ptr<engine::Engine> engine, volatile std::sig_atomic_t& stop)
      : engine_(std::move(engine)), stop_(stop) {}
  Result<program::CallId> prepare(const program::CollectiveCall& call) override {
    if (++prepared == 3) stop_ = 1;
    return engine_->prepare(call);
  }
  Status status() const override { return engine_->status(); }
  Duration time_alone(program::CallId call) const override { return engine_->time_alone(call); }
  lowering::Bound bound_by(program::CallId call) const override { return engine_->bound_by(call); }
  void start(program::CallId, std::uint64_t, SimTime) override {}
  std::optional<engine::Finished> advance(SimTime) override { return std::nullopt; }
  std::vector<double> link_bytes() const override { return {}; }
  int prepared = 0;

 private:
  std::unique_ptr<engine::Engine> engine_;
  volatile std::sig_atomic_t& stop_;
};

TEST(Fastest, StopsAtTheNextTrialWhenAskedTo) {
  const Choice m;
  volatile std::sig_atomic_t stop = 0;
  engine::EngineOptions o;
  o.stop = &stop;
  StoppedEngine engine(engine::make_analytic_engine(m.router, m.placement, o), stop);
  const Result<program::CollectiveCall> found =
      resolve_algorithm(engine, m.placement, m.topology, Choice::call(1 << 20));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message, interrupted().message);
  EXPECT_EQ(engine.prepared, 3);
  EXPECT_FALSE(resolve_algorithm(engine, m.placement, m.topology, Choice::call(1 << 20)).ok());
  EXPECT_EQ(engine.prepared, 3);
}

// On random machines, for every collective: pruned algorithms would not have been faster.
TEST(Fastest, IsNoSlowerThanAutoAndThanAnyFormOfAHierarchy) {
  int nested = 0;
  for (unsigned seed = 0; seed < 24; ++seed) {
    RandomStream random(seed, "machines for the fastest");
    const topology::Topology t = lowering::random_machine(random);
    const routing::Router router(t, seed % 2 == 0 ? topology::RoutingPolicy::kSpray : topology::RoutingPolicy::kStatic);
    const routing::Placement placement(router, t.gpus());
    engine::EngineOptions options;
    options.protocol = with_flags();
    const auto engine = engine::make_analytic_engine(router, placement, options);
    for (int op = 0; op <= static_cast<int>(collectives::Collective::kReduce); ++op) {
      const auto ranks = static_cast<std::uint32_t>(t.gpus().size());
      program::CollectiveCall call = lowering::test_call(ranks, "fastest", 64ull << random.below(25), 0);
      call.op = static_cast<collectives::Collective>(op);
      const auto time = [&](const program::CollectiveCall& c) {
        const Result<program::CallId> id = engine->prepare(c);
        return id.ok() ? engine->time_alone(*id) : Duration::max();
      };
      const Duration least = time(resolve_algorithm(*engine, placement, t, call).value());
      program::CollectiveCall other = call;
      other.algorithm = "auto";
      EXPECT_LE(least, time(resolve_algorithm(*engine, placement, t, other).value()))
          << seed << collectives::name_of(call.op);
      other.protocol = program::Protocol::kSimple;
      collectives::ScheduleSpec spec;
      spec.op = call.op;
      spec.ranks = call.groups.size();
      spec.ranks_per_group = lowering::ranks_per_domain(call, t, placement);
      for (const std::string& form : collectives::nested_forms(spec, true)) {
        other.algorithm = form;
        EXPECT_LE(least, time(other)) << form << " " << seed << collectives::name_of(call.op);
        ++nested;
      }
    }
  }
  EXPECT_GT(nested, 500);
}

}  // namespace
}  // namespace busbar::choice
