#include "busbar/survive/part_loss.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "busbar/predict/predictor.h"

namespace busbar::survive {
namespace {

double all_reduce_s(const spec::Overrides& overrides) {
  spec::Cluster c = spec::load_cluster("dgx-h100:4", overrides).value();
  const auto machine = predict::Predictor::make(std::move(c), {}).value();
  return machine
      ->time(predict::call_over(collectives::Collective::kAllReduce, Bytes{1u << 30}, machine->ranks()),
             predict::kTimeAlone)
      ->time.in_s();
}

TEST(PartLoss, NoOtherNicCostsMoreThanTheRow) {
  const spec::Cluster sound = spec::load_cluster("dgx-h100:4").value();
  std::vector<PartClass> nics = part_classes(sound.topology, {});
  std::erase_if(nics, [](const PartClass& c) { return c.what != "nic"; });
  ASSERT_EQ(nics.size(), 1u);

  const auto time = [](const spec::Overrides& with) -> Result<double> { return all_reduce_s(with); };
  const PartLosses losses = lose_parts("all_reduce", all_reduce_s({}), nics, {}, time, {}).value();
  for (const PartLoss& l : losses.rows) {
    for (std::uint32_t nic = 0; nic < 32; nic += 3) {
      const std::string name = fmt::format("node{}.nic{}", nic / 8, nic % 8);
      spec::Overrides with;
      if (l.state == PartState::kOut) with.fail = {name};
      if (l.state == PartState::kHalfRate) with.degrade = {name + "=0.5"};
      EXPECT_LT(all_reduce_s(with), 1.01 * *l.time_s) << name;
    }
  }
}

TEST(PartLoss, RowsAreThoseOfTheSameFaultByHand) {
  const spec::Cluster sound = spec::load_cluster("dgx-h100:4").value();

  const auto time = [](const spec::Overrides& with) -> Result<double> {
    BUSBAR_ASSIGN(const spec::Cluster c, spec::load_cluster("dgx-h100:4", with));
    return all_reduce_s(with);
  };
  const PartLosses losses =
      lose_parts("all_reduce", all_reduce_s({}), part_classes(sound.topology, {}), {}, time, {}).value();
  double before = HUGE_VAL;
  std::size_t nics = 0;
  for (const PartLoss& l : losses.rows) {
    if (l.time_s) {
      EXPECT_LE(l.cost_percent, before);  // worst first
      before = l.cost_percent;
    }
    if (l.part.what != "nic") continue;
    ++nics;
    spec::Overrides with;
    if (l.state == PartState::kOut) with.fail = {l.selector};
    if (l.state == PartState::kHalfRate) with.degrade = {l.selector + "=0.5"};
    EXPECT_EQ(*l.time_s, all_reduce_s(with));
  }
  EXPECT_EQ(nics, 2u);
}

TEST(PartLoss, AdviceIsGivenOnlyWhereTheMachineIsFasterWithoutThePart) {
  const PartClass part{"nic", {"node0.nic0"}, 8, true};
  const auto losses = [&](double out_s, double half_s) {
    const auto time = [&](const spec::Overrides& with) -> Result<double> { return with.fail.empty() ? half_s : out_s; };
    return lose_parts("step", 1.0, {part}, {}, time, {}).value();
  };
  for (const PartLoss& l : losses(1.1, 1.5).rows) EXPECT_EQ(l.switch_off, l.state == PartState::kHalfRate);
  for (const PartLoss& l : losses(1.5, 1.1).rows) EXPECT_FALSE(l.switch_off);
  for (const PartLoss& l : losses(1.2, 1.201).rows) EXPECT_FALSE(l.switch_off);  // no gain worth the work
}

TEST(PartLoss, StagesOfARank) {
  workload::LayoutSpec l;
  l.tp = 2, l.pp = 4, l.dp = 2;
  EXPECT_THAT(stage_colours(l, 16), testing::ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2));
  l.rank_order = workload::kTpCpPpDp;
  EXPECT_THAT(stage_colours(l, 16), testing::ElementsAre(0, 0, 1, 1, 1, 1, 2, 2, 0, 0, 1, 1, 1, 1, 2, 2));
}

}  // namespace
}  // namespace busbar::survive
