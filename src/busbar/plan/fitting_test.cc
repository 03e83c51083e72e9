#include "busbar/plan/fitting.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/workload/test_models.h"

namespace busbar::plan {
namespace {

constexpr Bytes k80GB{80'000'000'000};

FitAsk ask_of_70b(std::uint32_t gpus, std::uint32_t tp) {
  FitAsk ask{.gpus = gpus, .domain = 8, .capacity = k80GB};
  ask.layout.tp = tp;
  ask.layout.batch.global = gpus;
  return ask;
}

/// Times that are the memory that a layout needs, so that small layouts are fast.
FitTimes memory_as_time(const workload::ModelSpec& model, std::size_t* timed) {
  const auto time = [&model](const workload::LayoutSpec& l) -> Result<Duration> {
    return Duration::ps(static_cast<std::int64_t>(count(workload::memory_use(model, l).total())));
  };
  FitTimes out;
  out.bound = time;
  out.time = [=](const workload::LayoutSpec& l) {
    ++*timed;
    return time(l);
  };
  return out;
}

TEST(Fitting, EachLayoutFitsAndDiffersInItsKeysOnly) {
  const workload::ModelSpec model = workload::llama3_70b();
  const FitAsk ask = ask_of_70b(64, 4);
  const auto all = fitting_layouts(model, ask, 1);
  ASSERT_FALSE(all.empty());
  for (const FittingLayout& f : all) {
    ASSERT_EQ(f.keys.size(), 1u);
    EXPECT_LE(count(f.memory.total()), count(k80GB));
    EXPECT_EQ(f.layout.sharding.zero != ask.layout.sharding.zero, f.keys[0] == FitKey::kZero);
    EXPECT_EQ(f.layout.tp != ask.layout.tp, f.keys[0] == FitKey::kTp);
    EXPECT_EQ(f.layout.pp != ask.layout.pp, f.keys[0] == FitKey::kPp);
    EXPECT_EQ(f.layout.recomputation.kind != ask.layout.recomputation.kind, f.keys[0] == FitKey::kRecompute);
    EXPECT_EQ(f.layout.ranks(), ask.gpus);
  }
}

TEST(Fitting, OfADegreeTheNextLargerOneThatFitsIsTaken) {
  const workload::ModelSpec model = workload::llama3_70b();
  const FitAsk ask = ask_of_70b(64, 4);
  const auto all = fitting_layouts(model, ask, 1);
  const auto pp = std::find_if(all.begin(), all.end(), [](const auto& f) { return f.keys[0] == FitKey::kPp; });
  ASSERT_NE(pp, all.end());
  ASSERT_GE(pp->layout.pp, 2u);
  for (std::uint32_t nearer = 2; nearer < pp->layout.pp; ++nearer) {
    workload::LayoutSpec l = ask.layout;
    l.pp = nearer;
    if (const auto layout = workload::resolve_layout(l, model, ask.gpus); layout.ok())
      EXPECT_GT(count(workload::memory_use(model, *layout).total()), count(k80GB)) << nearer;
  }
}

TEST(Fitting, TensorParallelismStaysInItsDomain) {
  FitAsk ask = ask_of_70b(64, 4);
  ask.domain = 4;
  for (const FittingLayout& f : fitting_layouts(workload::llama3_70b(), ask, 1)) EXPECT_NE(f.keys[0], FitKey::kTp);
}

TEST(Fitting, TwoKeysAreChangedOnlyWhereNeitherIsEnough) {
  const workload::ModelSpec model = workload::llama3_70b();
  const FitAsk ask = ask_of_70b(64, 1);
  const auto one = fitting_layouts(model, ask, 1), two = fitting_layouts(model, ask, 2, one);
  ASSERT_FALSE(two.empty());
  for (const FittingLayout& f : two)
    for (const FittingLayout& known : one) EXPECT_EQ(std::count(f.keys.begin(), f.keys.end(), known.keys[0]), 0);
}

TEST(Fitting, FewKeysComeFirstAndOfAsManyTheFastest) {
  const workload::ModelSpec model = workload::llama3_70b();
  const FitAsk ask = ask_of_70b(64, 1);
  std::size_t timed = 0;
  FitTimes times = memory_as_time(model, &timed);
  times.wanted = 20;
  times.most = 100;
  const auto all = smallest_fits(model, ask, times);
  ASSERT_GE(all.size(), 3u);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i - 1].keys.size(), all[i].keys.size());
    if (all[i - 1].keys.size() == all[i].keys.size()) EXPECT_LE(all[i - 1].step, all[i].step);
  }
  EXPECT_EQ(timed, all.size());
}

TEST(Fitting, NoMoreLayoutsAreTimedThanTheBoundsDemand) {
  const workload::ModelSpec model = workload::llama3_70b();
  std::size_t timed = 0;
  const FitTimes times = memory_as_time(model, &timed);  // bounds that are the time: the first three are the fastest
  EXPECT_EQ(smallest_fits(model, ask_of_70b(64, 4), times).size(), 3u);
  EXPECT_EQ(timed, 3u);
}

TEST(Fitting, NothingIsFoundWhereNothingFits) {
  const workload::ModelSpec model = workload::llama3_70b();
  FitAsk ask = ask_of_70b(8, 1);
  ask.capacity = Bytes{1'000'000'000};
  std::size_t timed = 0;
  EXPECT_TRUE(smallest_fits(model, ask, memory_as_time(model, &timed)).empty());
  EXPECT_EQ(timed, 0u);
}

}  // namespace
}  // namespace busbar::plan
