#include "busbar/engine/floor.h"

#include <gtest/gtest.h>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/engine/lowering.h"
#include "busbar/engine/test_machines.h"

namespace busbar {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

double floor_us(const Topology& t, CollectiveCall call) {
  const Router r(t, RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  return machine_floor(r, p, call).time.in_us();
}

TopologyBuilder eight_gpus(bool reduces) {
  NodeTemplate node;
  for (int g = 0; g < 8; ++g) node.devices.push_back(test_device(DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(test_device(DeviceKind::kNvSwitch, "nvswitch0"));
  node.devices.back().device_class.reduces = reduces;
  for (std::uint32_t g = 0; g < 8; ++g) node.links.push_back({g, 8, test_link(LinkKind::kNvlink, 450, Duration())});
  TopologyBuilder b;
  b.add_block(b.add_template(node));
  return b;
}

TEST(Floor, OfEightGpusIsTheRingsUnlessTheSwitchReduces) {
  const double s_over_450 = 9e9 / 450e9 * 1e6;
  EXPECT_NEAR(floor_us(eight_gpus(false).seal(), test_call(8, "ring", 9 * kGB)), 1.75 * s_over_450, 1e-3);
  EXPECT_NEAR(floor_us(eight_gpus(true).seal(), test_call(8, "ring", 9 * kGB)), s_over_450, 1e-3);
}

TEST(Floor, OfTwoNodesIsSOverTheirCables) {
  // 2 x 8 x 400 Gb/s: S / 400 GB/s, plus GPU - NIC - switch - NIC - GPU
  EXPECT_NEAR(floor_us(pods_of_eight(2).seal(), test_call(16, "ring", 4 * kGB)), 10'000 + 4, 1e-3);
}

TEST(Floor, CountsWhatEachCollectiveMustMove) {
  const Topology t = eight_gpus(false).seal();
  const std::pair<Collective, double> cases[] = {{Collective::kAllGather, 7.0 / 8},
                                                 {Collective::kReduceScatter, 7.0 / 8},
                                                 {Collective::kBroadcast, 1.0}};
  for (const auto& [op, share] : cases) {
    CollectiveCall c = test_call(8, "ring", 450 * kGB);
    c.op = op;
    EXPECT_NEAR(floor_us(t, c), share * 1e6, 1e-3) << name_of(op);
  }
}

TEST(Floor, NoScheduleOfOursOnARandomMachineGoesBelow) {
  RandomStream random(7, "floor machines");
  for (int i = 0; i < 60; ++i) {
    TopologyBuilder b = pods_of_eight(2 + static_cast<std::uint32_t>(random.below(4)));
    for (int d = 0; d < 4; ++d) b.degrade(static_cast<LinkId>(random.below(b.peek().link_count())), 0.05 + 0.9 * random.uniform());
    const Topology t = std::move(b).seal();
    const Router r(t, RoutingPolicy::kStatic);
    const Placement p(r, t.gpus());
    const auto engine = make_flow_engine(r, p, {});
    const auto analytic = make_analytic_engine(r, p, {});
    const auto n = static_cast<std::uint32_t>(t.gpus().size());
    for (const Collective op : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kBroadcast})
      for (const std::string& algorithm : algorithms_for(op, n, 8)) {
        CollectiveCall c = test_call(n, algorithm, 1 + random.below(kGB), 1 + static_cast<std::uint32_t>(random.below(20)));
        c.op = op;
        const Duration floor = machine_floor(r, p, c).time;
        EXPECT_GE(engine->time_alone(engine->prepare(c).value()), floor) << algorithm << ' ' << name_of(op);
        EXPECT_GE(analytic->time_alone(analytic->prepare(c).value()), floor) << algorithm << ' ' << name_of(op);
      }
  }
}

}  // namespace
}  // namespace busbar
