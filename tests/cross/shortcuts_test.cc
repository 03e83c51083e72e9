// One corpus of machines and work, with each shortcut off in turn: docs/models/shortcuts.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "busbar/predict/test_corpus.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/spec/scenario.h"
#include "busbar/step/simulate.h"
#include "busbar/workload/build_program.h"

namespace busbar {
namespace {

/// A training step: its length, its parts, and what each call takes.
predict::corpus::Case step(predict::corpus::Machine machine, spec::LayoutFlags degrees) {
  return {machine.cluster + ", step", [=](const Shortcuts& shortcuts) {
            const auto m = machine.with(shortcuts);
            const spec::Catalog catalog("");
            spec::ScenarioFlags flags;
            flags.cluster = machine.cluster;
            flags.model = "llama3-8b";
            flags.degrees = degrees;
            const spec::Scenario s = spec::scenario_from_flags(flags, {}, catalog).value();
            const workload::LayoutSpec layout = workload::resolve_layout(s.layout, s.model, m->ranks()).value();
            const workload::KernelTable kernels = spec::load_kernels(m->cluster(), catalog).value();
            program::Program program = workload::build_program(s.model, layout, kernels).value();
            EXPECT_TRUE(m->prepare(program).ok());
            const auto engine = m->open_engine();
            step::StepOptions options;
            options.contention = kernels.contention;
            options.shortcuts = m->policy().shortcuts;
            const step::StepResult r = step::simulate_step(program, *engine, options).value();
            predict::corpus::Figures out{predict::corpus::ps(r.step_time), predict::corpus::ps(r.breakdown.compute),
                                         predict::corpus::ps(r.slowed)};
            for (const step::CallUse& use : r.calls)
              out.insert(out.end(), {predict::corpus::ps(use.total), predict::corpus::ps(use.alone)});
            return out;
          }};
}

std::vector<predict::corpus::Case> corpus_with_steps() {
  std::vector<predict::corpus::Case> out = predict::corpus::cases();
  out.push_back(step({"dgx-h100:2"}, {.tp = 4, .pp = 2, .global_batch = 16}));
  out.push_back(step(predict::corpus::machine_of_cards(), {.tp = 4, .pp = 3, .global_batch = 16}));
  return out;
}

/// What docs/models/shortcuts.md allows.
struct Allowed {
  double share;            ///< of a figure; roundings of each event are allowed besides
  bool time_only = false;  ///< the first figure alone is compared
};
Allowed allowed(Shortcut s) {
  switch (s) {
    case Shortcut::kCallImages:
    case Shortcut::kBundles:
      return {1e-6};
    case Shortcut::kEndsTakenTogether:
    case Shortcut::kFluidsOfEqualRate:
      return {0.02};
    case Shortcut::kEqualChannels:
      return {0.25, true};
    case Shortcut::kRareSplits:
      return {1e-6, true};
    default:
      return {1e-9};
  }
}

TEST(Shortcuts, EachOffInTurnLeavesEveryAnswer) {
  constexpr double kRounding = 1000;  // ps or bytes: 1 ps per event
  std::map<std::string, std::uint32_t> compared;
  for (const predict::corpus::Case& c : corpus_with_steps()) {
    const Shortcuts all = predict::corpus::with_a_ledger(predict::corpus::for_small_machines());
    const predict::corpus::Figures fast = c.run(all);
    for (std::uint32_t i = 0; i < kShortcutCount; ++i) {
      const auto s = static_cast<Shortcut>(i);
      if ((all.taken->load() >> i & 1) == 0) continue;
      const Shortcuts but_one = predict::corpus::with_a_ledger(predict::corpus::for_small_machines().without({s}));
      const predict::corpus::Figures slow = c.run(but_one);
      ++compared[name_of(s)];
      EXPECT_THAT(but_one.names_taken(), ::testing::Not(::testing::Contains(name_of(s)))) << c.name;
      ASSERT_EQ(fast.size(), slow.size()) << c.name << ", without " << name_of(s);
      const auto [share, time_only] = allowed(s);
      double most = 0;
      for (std::size_t f = 0; f < (time_only ? 1 : fast.size()); ++f)
        most = std::max(most, (std::abs(fast[f] - slow[f]) - kRounding) / std::abs(slow[f]));
      EXPECT_LE(most, share) << c.name << ", without " << name_of(s) << ": " << fast[0] << " instead of " << slow[0];
    }
  }
  for (std::uint32_t i = 0; i < kShortcutCount; ++i)
    if (const auto s = static_cast<Shortcut>(i); s != Shortcut::kWorkLimit)
      EXPECT_GT(compared[name_of(s)], 0u) << name_of(s) << ": no case takes it";
}

// Rings that differ only in their number keep in step. Some of these calls differed by 20 % and more.
TEST(Shortcuts, EqualRingsTakeAsLongOneByOne) {
  for (const char* cluster : {"mi300x-8:2", "hgx-a100-4:2", "dgx-h100:8"})
    for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllGather})
      for (const std::uint64_t mib : {1u, 16u, 64u}) {
        const predict::corpus::Case c = predict::corpus::collective({cluster}, op, mib << 20, "ring");
        const double together = c.run({})[0], one_by_one = c.run(Shortcuts{}.without({Shortcut::kEqualChannels}))[0];
        EXPECT_NEAR(together / one_by_one, 1, 1e-3) << c.name << " of " << mib << " MiB";
      }
}

TEST(Shortcuts, WithoutTheWorkLimitNoAlgorithmIsLeftOut) {
  const predict::corpus::Machine large{"dgx-h100:100"};
  for (const bool limit : {true, false}) {
    const auto m = large.with(limit ? Shortcuts{} : Shortcuts{}.without({Shortcut::kWorkLimit}));
    EXPECT_EQ(
        m->legal(predict::call_over(collectives::Collective::kAllToAll, Bytes{1 << 20}, m->ranks())).left_out.empty(),
        !limit);
  }
}

}  // namespace
}  // namespace busbar
