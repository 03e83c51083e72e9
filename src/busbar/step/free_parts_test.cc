#include "busbar/step/free_parts.h"

#include <gtest/gtest.h>

#include <map>

#include "busbar/choice/relief.h"
#include "busbar/spec/catalog.h"
#include "busbar/step/levers.h"

namespace busbar::step {
namespace {

TrainRun run_on(const std::string& cluster, std::int64_t tp, std::int64_t pp, std::int64_t batch,
                std::uint32_t gpus = 0) {
  spec::ScenarioFlags flags;
  flags.cluster = cluster;
  flags.model = "llama3-8b";
  flags.degrees.tp = tp;
  flags.degrees.pp = pp;
  flags.degrees.micro_batch = 1;
  flags.degrees.global_batch = batch;
  TrainAsk ask;
  ask.timeline = ask.scaling = false;
  ask.gpus = gpus;
  return predict(spec::scenario_from_flags(flags, {}, spec::Catalog()).value(), ask).value();
}

std::map<std::string, double> saved_by_part(const TrainRun& run) {
  std::map<std::string, double> out;
  for (const FreePart& f : find_free_parts(run, Context{}).value()) {
    EXPECT_NEAR(f.step_time_s + f.saved_s, run.step.step_time.in_s(), 1e-12) << f.part;
    out.emplace(f.part, f.saved_s);
  }
  return out;
}

TEST(FreeParts, AreThoseOfTheStepWithoutTheBubble) {
  const TrainRun run = run_on("dgx-h100:2", 2, 2, 32);
  EXPECT_GT(run.step.breakdown.bubble, Duration());
  const auto saved = saved_by_part(run);
  for (const BreakdownPart& part : breakdown_parts())
    EXPECT_EQ(saved.contains(part.name), run.step.breakdown.*part.time > Duration() && part.time != &Breakdown::bubble)
        << part.name;
}

TEST(FreeParts, OfOneGpuAreTheirShareOfTheBar) {
  const TrainRun run = run_on("dgx-h100:1", 1, 1, 8, 1);
  const Breakdown& b = run.step.breakdown;
  const auto saved = saved_by_part(run);
  EXPECT_NEAR(saved.at("optimizer"), b.optimizer.in_s(), 0.01 * b.optimizer.in_s());
  EXPECT_NEAR(saved.at("compute"), b.compute.in_s(), 0.01 * b.compute.in_s());
}

TEST(FreeParts, AlsoStopSlowingTheComputeOfTheirTime) {
  const TrainRun run = run_on("dgx-h100:1", 8, 1, 8);
  const StepResult& s = run.step;
  const double all = (s.breakdown.exposed_tp + s.slowed).in_s();
  EXPECT_NEAR(saved_by_part(run).at("exposed_tp"), all, 0.01 * all);
}

TEST(FreeParts, OfPartsThatHideOneAnotherDoNotAddUp) {
  const TrainRun run = run_on("dgx-h100:2", 8, 1, 8);
  double sum = 0;
  for (const auto& [part, saved] : saved_by_part(run)) sum += saved;
  EXPECT_GT(std::abs(sum - run.step.step_time.in_s()), 0.001 * run.step.step_time.in_s());
}

/// Links of the network between servers: here only gradients and parameters cross them.
choice::LinkGroup network_of(const TrainRun& run) {
  choice::LinkGroup last;
  for (choice::LinkGroup& g : choice::link_groups(run.cluster().topology))
    if (topology::is_fabric(run.cluster().topology.link_classes()[g.classes.front()].kind)) last = std::move(g);
  return last;
}

TEST(FreeParts, AreWorthAtLeastTheLeversOfTheirLinks) {
  const TrainRun run = run_on("dgx-h100:4", 8, 1, 16);
  const double dp = saved_by_part(run).at("exposed_dp");
  const choice::LinkGroup network = network_of(run);
  double before = 0;
  for (const double factor : {1.1, 2.0, 16.0}) {
    const Duration step = step_if(run, {network.classes, factor, 1.0, {}}).value();
    const double saved = (run.step.step_time - step).in_s();
    EXPECT_GE(saved, before) << factor;
    EXPECT_LT(saved, dp) << factor;
    before = saved;
  }
  for (const Lever& l : find_levers(run, Context{}).value())
    if (l.what == "links of twice the rate: " + network.name) EXPECT_LT(l.saved_s, dp);
}

TEST(FreeParts, AreTheLimitOfEverFasterLinks) {
  const TrainRun run = run_on("dgx-h100:4", 8, 1, 16);
  std::vector<std::uint16_t> outside;  // all links between servers and to their NICs
  const auto& classes = run.cluster().topology.link_classes();
  for (std::uint16_t c = 0; c < classes.size(); ++c)
    if (!topology::is_scale_up(classes[c].kind)) outside.push_back(c);
  const Duration step = step_if(run, {outside, 1e6, 0.0, {}}).value();
  const double saved = (run.step.step_time - step).in_s(), dp = saved_by_part(run).at("exposed_dp");
  EXPECT_NEAR(saved, dp, 0.05 * dp);
}

}  // namespace
}  // namespace busbar::step
