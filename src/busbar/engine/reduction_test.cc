// Reduction in the network, limits of whole devices, and links that hold messages up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/engine/engine.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/topology/selector.h"

namespace busbar {
namespace {

using testing::HasSubstr;

struct Built {
  Topology topology;
  Router router;
  Placement placement;
  explicit Built(TopologyBuilder b)
      : topology(std::move(b).seal()), router(topology, RoutingPolicy::kStatic), placement(router, topology.gpus()) {}
  std::unique_ptr<Engine> engine(bool flow = true) const {
    return flow ? make_flow_engine(router, placement, {}) : make_analytic_engine(router, placement, {});
  }
  double milliseconds(const CollectiveCall& call, bool flow = true) const {
    const auto e = engine(flow);
    return e->time_alone(e->prepare(call).value()).in_us() / 1000;
  }
  std::string refusal(const CollectiveCall& call) const { return engine()->prepare(call).error().message; }
};

TEST(Sharp, OneSwitchTakesEachPayloadOnceInAndOnceOut) {
  DeviceClass adds;
  adds.reduces = true;
  const Built m(single_gpu_nodes(8, 1, adds));
  for (const bool flow : {false, true}) {  // one chunk: up, then down
    EXPECT_NEAR(m.milliseconds(test_call(8, "sharp", kGiB), flow), 2 * kGiB / 50e9 * 1e3, 1e-6);
    const double piped = m.milliseconds(test_call(8, "sharp", kGiB, 1000), flow);
    EXPECT_NEAR(piped, kGiB / 50e9 * 1e3, 0.01 * piped);
  }
}

TEST(Sharp, ALinkBetweenSwitchesCarriesOneSumHoweverManyRanksAreBelow) {
  const Built m(leaf_spine(8, 4, true));
  const auto e = m.engine();
  const CallId id = e->prepare(test_call(32, "sharp", 1'000'000)).value();
  e->start(id, 0, SimTime());
  while (e->advance(SimTime::max())) {
  }
  const std::vector<double> bytes = e->link_bytes();
  double up = 0, down = 0;
  for (std::uint32_t l = 0; l < m.topology.link_count(); ++l) {
    const DeviceKind a = m.topology.kind(m.topology.from(LinkId{l})), b = m.topology.kind(m.topology.to(LinkId{l}));
    if (a == DeviceKind::kLeaf && b == DeviceKind::kSpine) up += bytes[l];
    if (a == DeviceKind::kSpine && b == DeviceKind::kLeaf) down += bytes[l];
    EXPECT_LE(bytes[l], 1'000'000.001) << m.topology.name(LinkId{l});
  }
  EXPECT_NEAR(up, 8e6, 1e-3);
  EXPECT_NEAR(down, 8e6, 1e-3);
}

// With switches that reduce inside the node too, every NIC carries an eighth: S / 400 GB/s is the floor.
TEST(Sharp, NodesThatAddUpInsideSendAnEighthOverEachNic) {
  const Built m(pods_of_eight(16, true));
  const auto e = m.engine();
  const CallId id = e->prepare(test_call(128, "sharp", kGiB, 512)).value();
  e->start(id, 0, SimTime());
  while (e->advance(SimTime::max())) {
  }
  const std::vector<double> bytes = e->link_bytes();
  for (const LinkId l : select_cables(m.topology, "leaf0").value()) EXPECT_NEAR(bytes[index(l)], kGiB / 8.0, 1);
  const double ms = m.milliseconds(test_call(128, "sharp", kGiB, 512));
  EXPECT_GT(ms, kGiB / 400e9 * 1e3);
  EXPECT_LT(ms, 1.2 * kGiB / 400e9 * 1e3);
  EXPECT_LT(ms, 0.7 * m.milliseconds(test_call(128, "ring", kGiB)));
}

TEST(Sharp, KeepsToTheLimitsOfItsSwitches) {
  DeviceClass adds;
  EXPECT_THAT(Built(single_gpu_nodes(4, 1, adds)).refusal(test_call(4, "sharp", 1024)), HasSubstr("can reduce"));
  adds.reduces = true;
  adds.reduce_message = Bytes{4096};
  adds.reduce_trees = 1;
  const Built m(single_gpu_nodes(4, 2, adds));
  EXPECT_THAT(m.refusal(test_call(4, "sharp", 4097)), HasSubstr("up to 4096 bytes here, not 4097"));
  CollectiveCall call = test_call(4, "sharp", 4096);
  EXPECT_TRUE(m.engine()->prepare(call).ok());
  call.channels = 2;
  EXPECT_THAT(m.refusal(call), HasSubstr("1 trees here, not 2"));
  adds.reduce_trees = 2;  // a tree over each of the two NICs
  adds.reduce_message = Bytes{0};
  const Built two(single_gpu_nodes(4, 2, adds));
  EXPECT_NEAR(two.milliseconds(test_call(4, "sharp", kGiB)), kGiB / 50e9 * 1e3, 1e-6);
}

TEST(Sharp, AddersAreACapacityOfTheirOwn) {
  DeviceClass adds;
  adds.reduces = true;
  adds.reduce_rate = BytesPerSecond{100'000'000'000};  // eight ports bring in 400 GB/s
  const Built m(single_gpu_nodes(8, 1, adds));
  const double up = 8 * kGiB / 100e9 * 1e3, down = kGiB / 50e9 * 1e3;
  for (const bool flow : {false, true}) EXPECT_NEAR(m.milliseconds(test_call(8, "sharp", kGiB), flow), up + down, 1e-6);
}

/// `gpus` GPUs below one CPU whose root complex passes 100 GB/s, each link 50 GB/s.
TopologyBuilder one_root(std::uint32_t gpus) {
  NodeTemplate node;
  for (std::uint32_t g = 0; g < gpus; ++g)
    node.devices.push_back(test_device(DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(test_device(DeviceKind::kCpu, "cpu0"));
  node.devices.back().device_class.transit_rate = BytesPerSecond{100'000'000'000};
  for (std::uint32_t g = 0; g < gpus; ++g) node.links.push_back({g, gpus, test_link(LinkKind::kPcie, 50, Duration())});
  TopologyBuilder b;
  b.add_block(b.add_template(node));
  return b;
}

TEST(Units, ARootComplexIsSharedByAllThatCrossesIt) {
  for (const bool flow : {false, true}) {
    // 2(n-1)/n S per GPU: two GPUs bring 100 GB/s, eight would bring 400.
    EXPECT_NEAR(Built(one_root(2)).milliseconds(test_call(2, "ring", kGiB), flow), kGiB / 50e9 * 1e3, 1e-6);
    EXPECT_NEAR(Built(one_root(8)).milliseconds(test_call(8, "ring", kGiB), flow), 1.75 * kGiB / 12.5e9 * 1e3, 1e-6);
  }
  const Built m(one_root(8));
  const auto e = m.engine();
  const CallId id = e->prepare(test_call(8, "ring", kGiB)).value();
  EXPECT_LT(index(e->bound_by(id).link), m.topology.link_count()) << "a bound is a link with a name";
}

// A ring waits for every hold-up on its way: R p d of them in expectation, though only one link of eight is shaky.
TEST(Delays, ARingWaitsForEveryHoldUpOfOneLink) {
  const Built m(one_switch(8));
  const LinkId shaky = select_cables(m.topology, "node0.gpu3-nvswitch0").value()[0];
  for (const bool flow : {false, true})
    for (const char* algorithm : {"ring", "halving_doubling"}) {
      EngineOptions o;
      o.delays = {{shaky, 0.01, Duration::us(50)}};
      const auto e = flow ? make_flow_engine(m.router, m.placement, o) : make_analytic_engine(m.router, m.placement, o);
      const CollectiveCall call = test_call(8, algorithm, kGiB);
      const double extra_us = e->time_alone(e->prepare(call).value()).in_us() - 1000 * m.milliseconds(call, flow);
      const std::string name = algorithm;
      if (name == "ring")
        EXPECT_NEAR(extra_us, 14 * 0.5, 0.01);  // 2(n-1) sends of 1 % x 50 us
      else
        EXPECT_NEAR(extra_us, 6 * 0.5, 0.01);
    }
}

}  // namespace
}  // namespace busbar
