// Memory of GPUs that is slower than their links.
#include <gtest/gtest.h>

#include "busbar/collectives/every_schedule.h"
#include "busbar/collectives/moves.h"
#include "busbar/lowering/memory_limit.h"
#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

constexpr double kSlow = 100e9;

/// Eight GPUs or so on a switch that reduces, 450 GB/s each way, with memory of that rate; without latencies.
topology::Topology one_domain(std::uint32_t gpus, double memory) {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < gpus; ++g) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.back().device_class.memory_rate = BytesPerSecond{static_cast<std::uint64_t>(memory)};
  }
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  node.devices.back().device_class.reduces = true;
  for (std::uint32_t g = 0; g < gpus; ++g)
    node.links.push_back({g, gpus, topology::test_link(topology::LinkKind::kNvlink, 450, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return std::move(b).seal();
}

double seconds(const topology::Topology& t, const program::CollectiveCall& call) {
  return 1e-3 * lowered_ms(TestNetwork(t), call);
}

program::CollectiveCall of_op(collectives::Collective op, const char* algorithm, std::uint32_t chunks = 1) {
  program::CollectiveCall c = test_call(8, algorithm, kGiB, chunks);
  c.op = op;
  return c;
}

TEST(Memory, OfGpusIsReadForWhatLeavesAndWrittenForWhatArrives) {
  const topology::Topology t = one_domain(8, kSlow);
  const double s = kGiB / kSlow;
  // 7/8 S leave and 7/8 S arrive; a sum reads what is there as well.
  EXPECT_NEAR(seconds(t, of_op(collectives::Collective::kAllGather, "ring")), 2 * 7.0 / 8 * s, 1e-9);
  EXPECT_NEAR(seconds(t, of_op(collectives::Collective::kReduceScatter, "ring")), 3 * 7.0 / 8 * s, 1e-9);
  EXPECT_NEAR(seconds(t, of_op(collectives::Collective::kAllReduce, "ring")), 5 * 7.0 / 8 * s, 1e-9);
  EXPECT_NEAR(seconds(t, of_op(collectives::Collective::kAllToAll, "direct")), 2 * 7.0 / 8 * s, 1e-9);
  // A switch that adds reads all that a GPU has once and writes the sum; an eighth of it passes the GPU in between.
  EXPECT_NEAR(seconds(t, of_op(collectives::Collective::kAllReduce, "nvls", 4096)), 2 * (1 + 1.0 / 8) * s, 2e-3 * s);
}

TEST(Memory, ThreeTimesAsFastAsTheLinksIsNoLimit) {
  for (const auto& [rate, limits] : {std::pair(1350e9, false), {1349e9, true}, {0.0, false}}) {
    const topology::Topology t = one_domain(8, rate);
    EXPECT_EQ(per_second(memory_limit(t, t.gpus()[0])) > 0, limits) << rate;
    const TestNetwork g(t);
    EXPECT_EQ(CapacityTable(g.router, {}).counts().devices > 0, limits);
  }
}

TEST(Memory, NeverSlowsWhatItsLinksHoldUpAlready) {
  for (const auto& [op, algorithm] : {std::pair(collectives::Collective::kAllReduce, "ring"),
                                      {collectives::Collective::kAllGather, "direct"},
                                      {collectives::Collective::kAllToAll, "bruck"}})
    EXPECT_DOUBLE_EQ(seconds(one_domain(8, 1349e9), of_op(op, algorithm)),
                     seconds(one_domain(8, 0), of_op(op, algorithm)))
        << algorithm;
}

/// Bytes that the memory of each rank moves, by the moves of the schedule.
std::vector<double> by_moves(const collectives::Schedule& s, double chunk_bytes) {
  std::vector<double> out(s.ranks, 0.0);
  for (const collectives::Phase& phase : s.phases)
    for (std::uint32_t r = 0; r < collectives::rounds(s, phase); ++r)
      collectives::for_each_move(s, phase, r, [&](const collectives::Move& m) {
        if (m.src < s.ranks) out[m.src] += m.chunk_count * chunk_bytes;
        if (m.dst < s.ranks) out[m.dst] += (m.reduce ? 2 : 1) * m.chunk_count * chunk_bytes;
      });
  return out;
}

/// The same by the fluids of the lowered call.
std::vector<double> by_fluids(const LoweredCall& call, const TestNetwork& ground) {
  std::vector<double> out(ground.gpus(), 0.0);
  const topology::Topology& t = ground.topology;
  for (const Stage& stage : call.stages)
    for (const Fluid& f : stage.fluids)
      for (std::uint32_t i = f.begin; i < f.end; ++i) {
        if (!stage.on[i].is_device()) continue;
        const topology::DeviceId gpu = stage.on[i].device();
        for (std::uint32_t r = 0; r < ground.gpus(); ++r)
          if (t.gpus()[r] == gpu) out[r] += stage.weight[i] * f.bytes;
      }
  return out;
}

TEST(Memory, MovesWhatTheMovesOfEveryScheduleReadAndWrite) {
  std::map<std::uint32_t, std::unique_ptr<TestNetwork>> grounds;
  std::size_t seen = 0;
  collectives::for_every_schedule([&](const collectives::BuiltCase& c) {
    if (c.schedule.ranks < 2 || c.schedule.ranks > 9) return;
    auto& ground = grounds[c.schedule.ranks];
    if (!ground) ground = std::make_unique<TestNetwork>(one_domain(c.schedule.ranks, kSlow));
    program::CollectiveCall call = test_call(c.schedule.ranks, c.schedule.algorithm.c_str(), 1'000'000);
    call.op = c.schedule.op;
    call.root = c.schedule.root;
    call.schedule = std::make_shared<const collectives::Schedule>(c.schedule);
    const auto lowered = Lowering(ground->router, ground->placement, {}).lower(call);
    if (!lowered.ok()) return;  // trees of a fabric, which this machine has not
    ++seen;
    const auto moved = by_moves(c.schedule, 1e6 / c.schedule.chunks_per_buffer());
    const auto loaded = by_fluids(*lowered, *ground);
    for (std::uint32_t r = 0; r < c.schedule.ranks; ++r) EXPECT_NEAR(loaded[r], moved[r], 1e-3) << c.text() << r;
  });
  EXPECT_GT(seen, 500u);
}

/// Nodes of GPUs with slow memory and a NIC each; the switches in the nodes and above the NICs reduce.
topology::Topology domains_that_reduce(std::uint32_t nodes, std::uint32_t gpus) {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < gpus; ++g) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.back().device_class.memory_rate = BytesPerSecond{static_cast<std::uint64_t>(kSlow)};
  }
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  node.devices.back().device_class.reduces = true;
  for (std::uint32_t g = 0; g < gpus; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic" + std::to_string(g)));
  for (std::uint32_t g = 0; g < gpus; ++g) {
    node.links.push_back({g, gpus, topology::test_link(topology::LinkKind::kNvlink, 450, Duration())});
    node.links.push_back({g, gpus + 1 + g, topology::test_link(topology::LinkKind::kPcie, 64, Duration())});
  }
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  leaf.reduces = true;
  for (std::uint32_t i = 0; i < nodes; ++i) b.add_block(t);
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t g = 0; g < gpus; ++g)
      b.connect(b.device(static_cast<topology::BlockId>(i), gpus + 1 + g), hub,
                topology::test_link(topology::LinkKind::kInfiniband, 50, Duration()));
  return std::move(b).seal();
}

// Each GPU's memory gives its buffer to the switch of the node and takes the sum. Of the node's sum it takes its share,
// which it sends to its NIC, and likewise on the way down.
TEST(Memory, OfTreesOverDomainsPassesAShareOfTheSumTwiceEachWay) {
  for (const std::uint32_t gpus : {2u, 4u}) {
    const TestNetwork m(domains_that_reduce(3, gpus));
    const auto lowered = try_lower(m, test_call(3 * gpus, "sharp", kGiB));
    ASSERT_TRUE(lowered.ok()) << lowered.error().message;
    for (const double bytes : by_fluids(*lowered, m)) EXPECT_NEAR(bytes, 2.0 * kGiB + 4.0 * kGiB / gpus, 1e-3 * kGiB);
  }
}

// Where pairs are counted by classes of members, each member's memory still carries its own.
TEST(Memory, OfPairsTakenTogetherIsThatOfPairsApart) {
  topology::NodeTemplate node = single_gpu_nodes(1, 1).peek().templates()[0];
  node.devices[0].device_class.memory_rate = BytesPerSecond{50'000'000'000};
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (int i = 0; i < 6; ++i) b.add_block(t);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (int i = 0; i < 6; ++i)
    b.connect(b.device(static_cast<topology::BlockId>(i), 1), hub,
              topology::test_link(topology::LinkKind::kInfiniband, 50, Duration()));
  const TestNetwork g(std::move(b).seal());
  program::CollectiveCall call = test_call(6, "direct", kGiB);
  call.op = collectives::Collective::kAllToAll;
  double before_ps = 0;
  for (const std::uint64_t apart : {0u, 1000u}) {
    const auto lowered = try_lower(g, call, {}, {.pairs_apart = apart});
    ASSERT_TRUE(lowered.ok());
    for (const double bytes : by_fluids(*lowered, g)) EXPECT_NEAR(bytes, 2 * 5.0 / 6 * kGiB, 1) << apart;
    EXPECT_NEAR(closed_form_ps(*lowered) * 1e-12, 2 * 5.0 / 6 * kGiB / 50e9, 1e-9) << apart;
    const double ps = closed_form_ps(try_lower(g, call, some_protocol(), {.pairs_apart = apart}).value());
    if (before_ps > 0) EXPECT_NEAR(ps, before_ps, 1e-9 * ps) << "with overheads of sends";
    before_ps = ps;
  }
}

}  // namespace
}  // namespace busbar::lowering
