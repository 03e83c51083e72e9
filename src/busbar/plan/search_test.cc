#include "busbar/plan/search.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "busbar/plan/internal/memory_floor.h"
#include "busbar/plan/internal/quick_bound.h"
#include "busbar/plan/layout_flags.h"
#include "busbar/plan/test_machine.h"
#include "busbar/predict/predictor.h"
#include "busbar/routing/path_view.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/spec/model_file.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/test_models.h"

namespace busbar::plan {
namespace {

class Choices {
 public:
  explicit Choices(unsigned seed) : random_(seed) {}
  template <typename T>
  T one_of(const std::vector<T>& all) {
    return all[random_() % all.size()];
  }
  /// `n` different ones, in order.
  template <typename T>
  std::vector<T> some_of(std::vector<T> all, std::size_t n) {
    while (all.size() > n) all.erase(all.begin() + static_cast<std::ptrdiff_t>(random_() % all.size()));
    return all;
  }

 private:
  std::mt19937 random_;
};

workload::ModelSpec some_model(Choices& c) {
  workload::ModelSpec m = c.one_of<int>({0, 1, 2}) == 0 ? workload::small_experts() : workload::small_model();
  m.layers = c.one_of<std::uint32_t>({3, 4, 6, 8});
  m.hidden = c.one_of<std::uint32_t>({512, 2048});
  if (m.moe.experts == 0 && c.one_of<int>({0, 1, 2, 3}) == 0) m.window = {.tokens = 512, .full_every = 2};
  if (c.one_of<int>({0, 1, 2, 3}) == 0) m.mtp = 1;
  return m;
}

/// Options that no list of a space has.
void choose_options(workload::LayoutSpec& l, Choices& c) {
  l.sharding.reshard = c.one_of<int>({0, 1, 1}) > 0;
  l.sharding.prefetch = c.one_of<int>({0, 1, 1, 1}) > 0;
  l.sharding.accumulate_gradients = c.one_of<int>({0, 0, 0, 0, 1}) > 0;
  l.exchange.gradient_bytes = c.one_of<std::uint32_t>({2, 4});
  l.overlap.p2p = c.one_of<int>({0, 1}) > 0;
  l.overlap.param_gather = l.overlap.grad_reduce = c.one_of<int>({0, 1, 1}) > 0;
  l.experts.dispatch_bytes = c.one_of<std::uint32_t>({1, 2});
  l.experts.capacity = c.one_of<double>({0, 0, 0.5, 1.25});
  l.experts.exchange =
      c.one_of<workload::ExpertExchange>({workload::ExpertExchange::kAllToAll, workload::ExpertExchange::kPerNode});
  if (c.one_of<int>({0, 1, 2, 3, 4, 5}) == 0) l.exchange.compression.bytes = 1;
  if (l.sharding.reshard && c.one_of<int>({0, 1, 2, 3, 4, 5}) == 0) l.sharding.secondary = 2;
  if (c.one_of<int>({0, 1, 2, 3}) == 0) l.straggler.speed = 0.8;
}

PlanSpace some_space(Choices& c) {
  PlanSpace s;
  s.base.batch.seq = c.one_of<std::uint32_t>({1024, 4096});
  s.base.batch.global = c.one_of<std::uint32_t>({8, 12, 16, 48});
  s.base.sequence_parallel = c.one_of<int>({0, 1, 2}) > 0;
  s.base.overlap.tp = s.base.sequence_parallel && c.one_of<int>({0, 1, 2}) == 0;
  s.base.kernel_time = c.one_of<double>({1, 1.095});
  s.base.context = c.one_of<workload::ContextParallel>(
      {workload::ContextParallel::kRing, workload::ContextParallel::kAllGather, workload::ContextParallel::kAllToAll});
  s.base.rank_order = c.one_of<workload::RankOrder>({workload::kTpCpDpPp, workload::kTpCpPpDp});
  if (c.one_of<int>({0, 1, 2, 3}) == 0)
    s.order = {workload::kTpCpDpPp,
               {workload::ParallelAxis::kPp, workload::ParallelAxis::kDp, workload::ParallelAxis::kTp,
                workload::ParallelAxis::kCp}};
  choose_options(s.base, c);
  s.tp = c.some_of<std::uint32_t>({1, 2, 4, 8, 16}, 2);
  s.pp = c.some_of<std::uint32_t>({1, 2, 4}, 2);
  s.cp = c.some_of<std::uint32_t>({1, 2}, 1);
  s.ep = c.some_of<std::uint32_t>({1, 2, 8}, 2);
  s.zero = c.some_of<std::uint32_t>({0, 1, 2, 3}, 2);
  s.micro_batch = c.some_of<std::uint32_t>({1, 2, 4}, 2);
  s.recompute = c.some_of<PlanRecompute>(
      {workload::Recompute::kNone, workload::Recompute::kSelective, workload::Recompute::kFull}, 1);
  s.schedule = c.some_of<workload::PipelineSchedule>(
      {workload::PipelineSchedule::k1F1B, workload::PipelineSchedule::kGPipe, workload::PipelineSchedule::kZbH1,
       workload::PipelineSchedule::kZbV, workload::PipelineSchedule::kDualPipeV},
      2);
  return s;
}

// Large vocabularies, narrow layers: what a stage counts twice shows.
TEST(MemoryFloor, NoModelOfTheCatalogueNeedsLess) {
  constexpr std::uint32_t kTp = 8, kPp = 2;
  std::size_t checked = 0;
  const spec::Catalog catalog;
  for (const std::string& name : catalog.names("models")) {
    const workload::ModelSpec model = spec::read_model(catalog.load("models", name)->root()).value();
    PlanSpace space;
    space.base.batch.global = 16;
    space.base.batch.seq = 1024;
    space.tp = {1, kTp};
    space.pp = {1, kPp};
    space.recompute = {workload::Recompute::kNone};
    space.schedule = {workload::PipelineSchedule::k1F1B};
    space.vpp = space.cp = space.micro_batch = {1};
    MemoryFloors memory(space, model);
    for (const PlanPoint& p : points_of(space, model, kTp * kPp))
      for (const std::uint32_t zero : {0u, 3u}) {
        const auto layout = workload::resolve_layout(layout_of(space, p, zero), model, kTp * kPp);
        if (!layout.ok()) continue;
        const auto bytes = static_cast<double>(count(workload::memory_use(model, *layout).total()));
        EXPECT_LE(memory.of(p, layout->split.chunk_layers)[zero], bytes) << name << " tp " << p.tp << " pp " << p.pp;
        ++checked;
      }
  }
  EXPECT_GT(checked, 500u);
}

/// The best time of the whole space; every bound is checked on the way.
Duration enumerate(PlanMachine& m, const workload::ModelSpec& model, const PlanSpace& space, Bytes capacity,
                   std::map<workload::PipelineSchedule, int>& timed) {
  QuickBounds quick(space, model, m.kernels, m.floors);
  MemoryFloors memory(space, model);
  Duration best = Duration::max();
  for (const PlanPoint& p : points_of(space, model, m.gpus()))
    for (const std::uint32_t zero : space.zero) {
      const auto layout = workload::resolve_layout(layout_of(space, p, zero), model, m.gpus());
      if (!layout.ok()) continue;
      const auto bytes = count(workload::memory_use(model, *layout).total());
      EXPECT_LE(memory.of(p, layout->split.chunk_layers)[zero], static_cast<double>(bytes)) << p.pp << " zero " << zero;
      if (bytes > count(capacity)) continue;
      const Duration time = m.time(model, *layout)->step_time;
      EXPECT_LE(*step_bound(model, *layout, m.kernels, m.floors), time);
      EXPECT_LE(*closed_step_bound(model, *layout, m.kernels, *m.machine), time);
      EXPECT_LE(quick.of(p, zero, quick.of(p)), time)
          << "tp " << p.tp << " pp " << p.pp << " zero " << zero << " " << workload::name_of(p.schedule);
      EXPECT_LE(quick.of(p, zero, quick.of(p, true)), time)
          << "with sends, tp " << p.tp << " pp " << p.pp << " vpp " << p.vpp << " zero " << zero << " "
          << workload::name_of(p.schedule);
      ++timed[p.schedule];
      best = std::min(best, time);
    }
  return best;
}

constexpr Bytes kCapacity{24'000'000'000};

/// The search finds the best layout of the space. Returns whether any fits.
bool expect_best(PlanMachine& m, const workload::ModelSpec& model, const PlanSpace& space,
                 std::map<workload::PipelineSchedule, int>& timed) {
  const Duration best = enumerate(m, model, space, kCapacity, timed);
  PlanAsk ask;
  ask.gpus = m.gpus();
  ask.capacity = kCapacity;
  ask.time = [&](const workload::LayoutSpec& l) { return m.time(model, l); };
  const Result<Plan> plan = search_plan(space, model, m.kernels, m.floors, ask);
  if (!plan.ok()) ADD_FAILURE() << plan.error().message;
  if (!plan.ok()) return false;
  EXPECT_TRUE(plan->complete);
  EXPECT_EQ(plan->layouts.empty(), best == Duration::max());
  if (plan->layouts.empty()) return false;
  EXPECT_EQ(plan->layouts.front().step.step_time, best);
  EXPECT_LE(plan->lower_bound, best);
  EXPECT_EQ(plan->proven, best);
  return true;
}

TEST(SearchPlan, FindsTheFastestOfSmallSpacesAndNoBoundIsAboveATime) {
  std::vector<std::unique_ptr<PlanMachine>> machines;
  for (const char* name : {"dgx-h100", "dgx-a100:2", "h100-pcie-nvbridge", "dgx-1v", "hgx-h100-4:4"})
    machines.push_back(std::make_unique<PlanMachine>(name));
  std::uint32_t spaces = 0;
  std::map<workload::PipelineSchedule, int> timed;  ///< layouts
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Choices c(seed);
    const workload::ModelSpec model = some_model(c);
    PlanSpace space = some_space(c);
    if (model.moe.experts > 0) space.base.experts.overlap = c.one_of<double>({0, 0, 0.5, 1});
    spaces += expect_best(*machines[seed % machines.size()], model, space, timed);
  }
  EXPECT_GE(spaces, 180u);
  for (const workload::PipelineSchedule s : PlanSpace().schedule) EXPECT_GE(timed[s], 15) << workload::name_of(s);
}

TEST(SearchPlan, FindsTheFastestWhereStatesOrActivationsAreInHostMemory) {
  std::vector<std::unique_ptr<PlanMachine>> machines;
  for (const char* name : {"dgx-h100", "dgx-a100:2", "gh200-4"})
    machines.push_back(std::make_unique<PlanMachine>(name, true));
  std::uint32_t spaces = 0;
  std::map<workload::PipelineSchedule, int> timed;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Choices c(seed);
    const workload::ModelSpec model = some_model(c);
    PlanSpace space = some_space(c);
    space.base.offload.optimizer = seed % 3 != 0;
    space.base.offload.activations = seed % 3 != 1;
    spaces += expect_best(*machines[seed % machines.size()], model, space, timed);
  }
  EXPECT_GE(spaces, 25u);
}

// Gradients are reduced once and gathered layers kept, so a pass computes, waits for its one layer and does no more.
TEST(QuickBounds, AreTightWhereForwardPassesWaitForTheirFirstLayer) {
  workload::ModelSpec model = workload::small_model();
  model.layers = 1;
  model.hidden = 8192;
  model.ffn = 32'768;
  model.vocab = 8192;
  PlanSpace space;
  space.base.sharding.accumulate_gradients = true;
  space.base.sharding.reshard = false;
  space.base.batch.seq = 4096;
  space.tp = space.pp = space.cp = space.micro_batch = {1};
  space.recompute = {workload::Recompute::kNone};
  space.schedule = {workload::PipelineSchedule::k1F1B};
  for (const char* name : {"dgx-h100", "dgx-a100", "dgx-h100:2", "hgx-h100-4:4"}) {
    PlanMachine m(name);
    space.base.batch.global = 32 * m.gpus();
    QuickBounds quick(space, model, m.kernels, m.floors);
    const std::vector<PlanPoint> points = points_of(space, model, m.gpus());
    ASSERT_EQ(points.size(), 1u);
    const auto layout = workload::resolve_layout(layout_of(space, points[0], 3), model, m.gpus());
    ASSERT_TRUE(layout.ok());
    const double time = m.time(model, *layout)->step_time.in_s();
    const QuickBounds::Kernels kernels = quick.of(points[0]);
    const double bound = quick.of(points[0], 3, kernels).in_s();
    EXPECT_LE(bound, time) << name;
    EXPECT_GE(bound, 0.97 * time) << name;
    EXPECT_LE(kernels.bound.in_s(), 0.95 * time) << name << ": the wait counts";
  }
}

// ZeRO-2 reduces gradients under computation, which then is slower: without that the bound is 5 % below the time.
TEST(StepBound, KnowsThatCollectivesSlowTheKernelsNextToThem) {
  PlanMachine m("dgx-h100:2");
  workload::ModelSpec model = workload::small_model();
  model.layers = 8;
  model.hidden = 8192;
  model.ffn = 32'768;
  PlanSpace space;
  space.base.batch.seq = 4096;
  space.base.batch.global = 256;
  space.tp = {2};
  space.pp = space.cp = space.micro_batch = {1};
  space.recompute = {workload::Recompute::kNone};
  QuickBounds quick(space, model, m.kernels, m.floors);
  const std::vector<PlanPoint> points = points_of(space, model, m.gpus());
  ASSERT_EQ(points.size(), 1u);
  const auto layout = workload::resolve_layout(layout_of(space, points[0], 2), model, m.gpus());
  ASSERT_TRUE(layout.ok());
  const double time = m.time(model, *layout)->step_time.in_s();
  const double quickly = quick.of(points[0], 2, quick.of(points[0])).in_s();
  const double bound = closed_step_bound(model, *layout, m.kernels, *m.machine)->in_s();
  workload::KernelTable undisturbed = m.kernels;
  undisturbed.contention = {};
  EXPECT_LE(closed_step_bound(model, *layout, undisturbed, *m.machine)->in_s(), 0.96 * time);
  EXPECT_GE(bound, 0.98 * time);
  EXPECT_LE(bound, time);
  EXPECT_LE(quickly, bound);
  QuickBounds without(space, model, undisturbed, m.floors);
  EXPECT_GE(quickly, 1.02 * without.of(points[0], 2, without.of(points[0])).in_s());
}

// With one chunk each pass waits for a send, with two the first micro-batch for those of all chunks.
TEST(QuickBounds, KnowSendsBetweenStages) {
  PlanMachine m("hgx-h100-4:4");
  workload::ModelSpec model = workload::small_model();
  PlanSpace space;
  space.base.batch.seq = 4096;
  space.base.batch.global = 32;
  space.tp = space.cp = space.micro_batch = {1};
  space.pp = {4};
  space.vpp = {1, 2};
  space.recompute = {workload::Recompute::kNone};
  space.schedule = {workload::PipelineSchedule::k1F1B};
  QuickBounds quick(space, model, m.kernels, m.floors);
  for (const PlanPoint& p : points_of(space, model, m.gpus())) {
    const auto layout = workload::resolve_layout(layout_of(space, p, 1), model, m.gpus());
    ASSERT_TRUE(layout.ok());
    const double time = m.time(model, *layout)->step_time.in_s();
    const double without = quick.of(p, 1, quick.of(p)).in_s(), bound = quick.of(p, 1, quick.of(p, true)).in_s();
    EXPECT_LE(without, 0.95 * time) << p.vpp;
    EXPECT_GE(bound, 0.97 * time) << p.vpp;
    EXPECT_LE(bound, time) << p.vpp;
  }
}

// Passes in flight are most of this memory, so too many of them would be above it.
TEST(MemoryFloors, AreCloseToTheMemoryOfLongSequencesUnderEverySchedule) {
  workload::ModelSpec model = workload::small_model();
  model.layers = 32;
  model.hidden = 2048;
  model.vocab = 1024;
  PlanSpace space;
  space.base.batch.seq = 131'072;
  space.recompute = {workload::Recompute::kNone};
  for (const std::uint32_t pp : {2u, 4u, 8u}) {
    space.base.batch.global = 4 * pp;
    space.pp = {pp};
    space.dp = {1};
    MemoryFloors memory(space, model);
    for (const PlanPoint& p : points_of(space, model, pp)) {
      const auto layout = workload::resolve_layout(layout_of(space, p, 1), model, pp);
      if (!layout.ok() || p.micro_batch > 1 || p.vpp > 2) continue;
      const double floor = memory.of(p, layout->split.chunk_layers)[1],
                   all = count(workload::memory_use(model, *layout).total());
      EXPECT_LE(floor, all) << pp << " " << workload::name_of(p.schedule) << " vpp " << p.vpp;
      EXPECT_GE(floor, 0.9 * all) << pp << " " << workload::name_of(p.schedule) << " vpp " << p.vpp;
    }
  }
}

/// Both arguments must outlive the result.
PlanAsk ask_of(PlanMachine& m, const workload::ModelSpec& model, Bytes capacity) {
  PlanAsk ask;
  ask.gpus = m.gpus();
  ask.capacity = capacity;
  ask.time = [&m, &model](const workload::LayoutSpec& l) { return m.time(model, l); };
  return ask;
}

TEST(SearchPlan, StopsWithABoundOfWhatIsLeft) {
  PlanMachine m("dgx-h100");
  const workload::ModelSpec model = workload::small_model();
  PlanSpace space;
  space.base.batch.global = 64;
  PlanAsk ask = ask_of(m, model, Bytes{80'000'000'000});
  ask.rows = 1;  // as of people who read the bound
  const Plan whole = search_plan(space, model, m.kernels, m.floors, ask).value();
  int timed = 0;
  ask.time = [&](const workload::LayoutSpec& l) {
    ++timed;
    return m.time(model, l);
  };
  ask.go_on = [&](const PlanProgress&) { return timed < 1; };
  const Plan part = search_plan(space, model, m.kernels, m.floors, ask).value();
  ASSERT_EQ(part.layouts.size(), 1u);
  EXPECT_LE(part.proven, whole.proven);
  EXPECT_GE(part.layouts.front().step.step_time, whole.layouts.front().step.step_time);
  EXPECT_EQ(part.searched, whole.searched);
}

TEST(SearchPlan, KeepsWhatItFoundWhenItIsStoppedWhileItTriesOtherOrders) {
  PlanMachine m("dgx-h100:2");
  const workload::ModelSpec model = workload::small_model();
  PlanSpace space;
  space.base.batch.global = 32;
  space.tp = {2};
  space.pp = {4};
  space.changes_of_best = {{.order = workload::kTpCpPpDp}};
  PlanAsk ask = ask_of(m, model, Bytes{80'000'000'000});
  bool stopped = false;
  ask.time = [&](const workload::LayoutSpec& l) {
    stopped = l.rank_order == workload::kTpCpPpDp;
    return stopped ? Result<step::StepResult>(invalid("stopped")) : m.time(model, l);
  };
  ask.go_on = [&](const PlanProgress&) { return !stopped; };
  const Result<Plan> plan = search_plan(space, model, m.kernels, m.floors, ask);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(plan->layouts.empty());
}

TEST(SearchPlan, LeavesGpusIdleWhereThatIsFaster) {
  PlanMachine all("gb200-nvl72"), some("gb200-nvl72", false, 64);
  workload::ModelSpec model = workload::small_model();
  model.layers = 8;
  PlanSpace space;
  space.base.batch.seq = 1024;
  space.tp = {1, 2};
  space.pp = {1, 2};
  space.cp = space.micro_batch = space.vpp = {1};
  space.recompute = {workload::Recompute::kNone};
  constexpr Bytes kMemory{80'000'000'000};
  for (const std::uint32_t batch : {576u, 1024u}) {  // 576 fills 72 and 64 GPUs; 1024 only 64
    space.base.batch.global = batch;
    PlanAsk ask = ask_of(all, model, kMemory);
    ask.spared = {{some.gpus(), {{&some.floors, [&](const workload::LayoutSpec& l) { return some.time(model, l); }}}}};
    const Plan plan = search_plan(space, model, all.kernels, all.floors, ask).value();
    std::map<workload::PipelineSchedule, int> timed;
    const Duration best = enumerate(all, model, space, kMemory, timed),
                   spared = enumerate(some, model, space, kMemory, timed);
    ASSERT_FALSE(plan.layouts.empty());
    EXPECT_EQ(plan.layouts.front().step.step_time, std::min(best, spared));
    EXPECT_EQ(plan.layouts.front().use, spared < best ? 1u : 0u);
    EXPECT_TRUE(plan.complete);
    if (batch == 1024) EXPECT_EQ(plan.layouts.front().use, 1u);
  }
}

TEST(SearchPlan, ShowsOneOfTheLayoutsThatGiveEachGpuTheSameTokens) {
  PlanMachine m("dgx-h100");
  const workload::ModelSpec model = workload::small_model();
  PlanSpace space;
  space.base.batch.global = 64;
  space.tp = space.pp = {1};
  space.cp = space.micro_batch = {1, 2, 4};
  space.recompute = {workload::Recompute::kNone};
  PlanAsk ask = ask_of(m, model, Bytes{80'000'000'000});
  ask.rows = 1000;
  ask.close = 100;
  const Plan plan = search_plan(space, model, m.kernels, m.floors, ask).value();
  std::set<std::tuple<double, std::uint32_t, workload::PipelineSchedule>> met;
  for (const PlannedLayout& l : plan.layouts) {
    const double tokens = 1.0 * l.layout.batch.micro / l.layout.cp;
    EXPECT_TRUE(met.emplace(tokens, l.layout.sharding.zero, l.layout.schedule).second) << layout_flags(l.layout);
    if (tokens >= 1) EXPECT_EQ(l.layout.cp, 1u);  // the others send more
  }
  EXPECT_GE(met.size(), 5u);  // 1/4 to 4 sequences at a time
}

TEST(SearchPlan, TriesExchangesOfExpertsAndSplitsOfStagesWithTheFastestLayouts) {
  PlanMachine m("dgx-h100:2");
  workload::ModelSpec model = workload::small_experts();
  model.layers = 6;
  PlanSpace space;
  space.base.batch.global = 32;
  space.tp = space.cp = {1};
  space.pp = {2};
  space.ep = {2, 4};
  space.changes_of_best = usual_changes(space.base);
  const PlanAsk ask = ask_of(m, model, Bytes{80'000'000'000});
  const Plan plan = search_plan(space, model, m.kernels, m.floors, ask).value();
  std::set<std::tuple<std::uint32_t, workload::ExpertExchange, bool>> met;
  bool with_ends = false;
  for (const PlannedLayout& l : plan.layouts) {
    met.insert({l.layout.ep, l.layout.experts.exchange, l.layout.experts.overlap > 0});
    with_ends = with_ends || l.layout.split.embedding_as_layer;
    EXPECT_EQ(l.step.step_time, m.time(model, l.layout)->step_time);
  }
  for (const bool overlaps : {false, true})
    EXPECT_TRUE(met.contains({plan.layouts.front().layout.ep, workload::ExpertExchange::kPerNode, overlaps}));
  EXPECT_TRUE(with_ends);
}

TEST(PlanSpace, KeepsWhatALayoutSaysOfExchangesStagesAndOrders) {
  workload::LayoutSpec base;
  base.places["expert_exchange"] = base.places["rank_order"] = {};
  for (const PlanChange& c : usual_changes(base)) EXPECT_EQ(c.kind(), PlanChange::Kind::kSplit);
  base.places["balanced_layers"] = {};
  EXPECT_TRUE(usual_changes(base).empty());
}

TEST(SearchPlan, BeginsWithStagesThatFillDomainsAndWithAllOfABatchInOnePass) {
  PlanSpace space;
  space.base.batch.global = 1152;
  PlanPoint fills{.tp = 1, .pp = 4, .dp = 72, .ep = 8}, straddles{.tp = 1, .pp = 3, .dp = 96, .ep = 8};
  EXPECT_TRUE(is_usual(fills, space, 72));
  EXPECT_FALSE(is_usual(straddles, space, 72));
  PlanPoint whole{.tp = 1, .dp = 144, .micro_batch = 8}, parts{.tp = 1, .dp = 36, .micro_batch = 8};
  EXPECT_TRUE(is_usual(whole, space, 72)) << "one pass";
  EXPECT_FALSE(is_usual(parts, space, 72)) << "four passes";
}

TEST(SearchPlan, NamesTheLayoutThatNeedsLeastWhereNoneFits) {
  PlanMachine m("dgx-h100");
  const workload::ModelSpec model = workload::small_model();
  PlanSpace space;
  space.base.batch.global = 8;
  const PlanAsk ask = ask_of(m, model, Bytes{1'000'000});
  const Plan plan = search_plan(space, model, m.kernels, m.floors, ask).value();
  EXPECT_TRUE(plan.layouts.empty());
  ASSERT_TRUE(plan.least.has_value());
  EXPECT_GT(count(plan.least->memory.total()), count(ask.capacity));
}

}  // namespace
}  // namespace busbar::plan
