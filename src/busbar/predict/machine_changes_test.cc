#include "busbar/predict/machine_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/predict/predictor.h"

namespace busbar::predict {
namespace {

using testing::HasSubstr;

Prediction big_all_reduce(const char* cluster, const spec::Overrides& overrides, PredictPolicy policy = {}) {
  auto machine = Predictor::make(spec::load_cluster(cluster, overrides).value(), {}, std::move(policy)).value();
  return machine->time(call_over(collectives::Collective::kAllReduce, Bytes{std::uint64_t{1} << 30}, machine->ranks()))
      .value();
}

double gain_of(const Prediction& p, const std::string& what) {
  for (const choice::Relief& r : p.relief)
    if (r.what.find(what) != std::string::npos) return r.gain_percent;
  return -1;
}

TEST(MachineChanges, SlowMemoryIsTheCauseAndItsReliefIsAllThatHelps) {
  spec::Overrides o;
  o.gpu_memory_rate = "100GB/s";
  const Prediction p = big_all_reduce("dgx-h100", o);
  EXPECT_NEAR(gain_of(p, "GPU memory"), 9.1, 0.3);
  EXPECT_THAT(p.cause, HasSubstr("memory"));
  EXPECT_EQ(gain_of(big_all_reduce("dgx-h100", {}), "GPU memory"), -1) << "memory is not a limit there";
}

TEST(MachineChanges, TheGainOfAFeatureThatIsOffEqualsSwitchingItOn) {
  spec::Overrides o;
  o.set = {"node.gpudirect=false"};
  const Prediction off = big_all_reduce("dgx-h100:2", o), on = big_all_reduce("dgx-h100:2", {});
  EXPECT_NEAR(gain_of(off, "GPUDirect"), 100 * (1 - on.time.in_s() / off.time.in_s()), 0.01);
  EXPECT_EQ(gain_of(on, "GPUDirect"), -1);
}

TEST(MachineChanges, OfOneServerHaveNoGpudirect) {
  spec::Overrides o;
  o.set = {"node.gpudirect=false"};
  EXPECT_EQ(gain_of(big_all_reduce("dgx-h100", o), "GPUDirect"), -1);
}

TEST(MachineChanges, SoDoesOneThatNcclIsToldToLeave) {
  const Prediction off = big_all_reduce("dgx-h100", {}, {.env = {"NCCL_NVLS_ENABLE=0"}});
  const Prediction on = big_all_reduce("dgx-h100", {});
  EXPECT_GT(off.time, on.time);
  EXPECT_NEAR(gain_of(off, "NVLS"), 100 * (1 - on.time.in_s() / off.time.in_s()), 0.01);
}

// NCCL leaves a NIC at half its rate alone, so no link of it is used; repairing it is the relief all the same.
TEST(MachineChanges, TheGainOfARepairIsThatOfTheMachineWithoutTheDamage) {
  spec::Overrides o;
  o.degrade = {"node1.nic3=0.5"};
  const Prediction damaged = big_all_reduce("dgx-h100:4", o), sound = big_all_reduce("dgx-h100:4", {});
  EXPECT_GT(damaged.time, sound.time);
  EXPECT_NEAR(gain_of(damaged, "node1.nic3 as built"), 100 * (1 - sound.time.in_s() / damaged.time.in_s()), 0.01);
  EXPECT_EQ(damaged.relief.front().what, "node1.nic3 as built, not at 50 %");
}

TEST(MachineChanges, DamagesOfOneDegreeAreOneRepairAndMilderOnesAnother) {
  spec::Overrides all, milder;
  all.degrade = {"leaf1-spine*=0.9", "node1.gpu3-nvswitch*=0.25", "node2.gpu3-nvswitch*=0.25"};
  milder.degrade = {"leaf1-spine*=0.9"};
  const Prediction damaged = big_all_reduce("dgx-h100:64", all), rest = big_all_reduce("dgx-h100:64", milder);
  EXPECT_GT(damaged.time, rest.time);
  EXPECT_NEAR(gain_of(damaged, "node1.gpu3-nvswitch* and 1 more as built, not at 25 %"),
              100 * (1 - rest.time.in_s() / damaged.time.in_s()), 0.01);
  EXPECT_GE(gain_of(damaged, "leaf1-spine* as built, not at 90 %"), 0);
}

// Sends of the sound mesh are alike, so they are followed once. With a slow link they are not, whatever a repair would
// do.
TEST(MachineChanges, AreTimedWithoutNotingTheirShortcuts) {
  const auto taken = [](std::vector<std::string> degrade) {
    spec::Overrides o;
    o.degrade = std::move(degrade);
    PredictPolicy policy;
    policy.shortcuts.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
    const Shortcuts noted = policy.shortcuts;
    const Prediction p = big_all_reduce("mi300x-8", o, std::move(policy));
    EXPECT_EQ(gain_of(p, "as built") > 0, !o.degrade.empty());
    return noted.names_taken();
  };
  EXPECT_THAT(taken({}), testing::Contains("sends alike"));
  EXPECT_THAT(taken({"node0.gpu0-gpu1=0.5"}), testing::Not(testing::Contains("sends alike")));
}

TEST(MachineChanges, GpudirectOnLiftsALevelThatLeavesNoNicNearEnough) {
  const Prediction off = big_all_reduce("dgx-h100:2", {}, {.env = {"NCCL_NET_GDR_LEVEL=LOC"}});
  const Prediction on = big_all_reduce("dgx-h100:2", {});
  EXPECT_GT(off.time, on.time);
  EXPECT_NEAR(gain_of(off, "GPUDirect"), 100 * (1 - on.time.in_s() / off.time.in_s()), 0.01);
}

TEST(MachineChanges, PeerAccessOnIsOfferedWhereItIsOff) {
  const Prediction off = big_all_reduce("dgx-a100", {}, {.env = {"NCCL_P2P_DISABLE=1"}});
  const Prediction on = big_all_reduce("dgx-a100", {});
  EXPECT_GT(off.time, on.time);
  EXPECT_NEAR(gain_of(off, "P2P on"), 100 * (1 - on.time.in_s() / off.time.in_s()), 0.01);
  EXPECT_EQ(gain_of(on, "P2P on"), -1);
}

}  // namespace
}  // namespace busbar::predict
