#include "busbar/choice/synthesis.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "busbar/base/random.h"
#include "busbar/choice/fastest.h"
#include "busbar/choice/internal/cheapest.h"
#include "busbar/collectives/verify.h"
#include "busbar/engine/engine.h"
#include "busbar/floors/floor.h"
#include "busbar/lowering/random_machine.h"

namespace busbar::choice {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

struct Outcome {
  double ring_us, textbook_us, time_us, floor_us;
  std::string what;
};

/// Synthesizes on the machine's first `ranks` GPUs, proves every candidate, and times the best.
Outcome synthesize_on(const topology::Topology& t, collectives::Collective op, std::uint32_t ranks, std::uint64_t bytes,
                      bool flow, std::uint32_t chunks = 1024, std::uint32_t root = 0) {
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  const auto engine = flow ? engine::make_flow_engine(r, p, {}) : engine::make_analytic_engine(r, p, {});
  const auto lower_bound = engine::make_analytic_engine(r, p, {});
  program::CollectiveCall c = lowering::test_call(ranks, "fastest", bytes, chunks);
  c.op = op;
  c.root = root;
  const auto candidates = synthesize(r, p, c).value();
  for (const Synthesized& s : candidates) {
    const Status proof = collectives::verify(*s.schedule);
    EXPECT_TRUE(proof.ok()) << s.what << (proof.ok() ? "" : proof.error().text());
  }
  const program::CollectiveCall textbook = resolve_algorithm(*engine, p, t, c).value();
  CutTime cut(t, p);
  const SynthesizedCall best =
      pick_fastest(*engine, flow ? lower_bound.get() : nullptr, cut, candidates, c, textbook).value();
  EXPECT_EQ(engine->time_alone(engine->prepare(textbook).value()), best.textbook_alone);
  c.algorithm = "ring";
  if (best.ring_alone) EXPECT_EQ(engine->time_alone(engine->prepare(c).value()), *best.ring_alone);
  return {best.ring_alone.value_or(best.textbook_alone).in_us(), best.textbook_alone.in_us(),
          engine->time_alone(engine->prepare(best.call).value()).in_us(),
          floors::MachineFloor(r, p, c).at(c.bytes).time.in_us(), best.what};
}

TEST(Synthesis, OfTwoPairsUsesBothWaysAcross) {
  // A ring sends 3/2 S over a PCIe port. Two trees that cross by either GPU of each pair send S/2, which is the floor.
  const Outcome o = synthesize_on(lowering::two_pairs(), collectives::Collective::kAllReduce, 4, 4 * kGB, true);
  EXPECT_NEAR(o.ring_us, 1.5 * 4e9 / 20e9 * 1e6, 1);
  EXPECT_NEAR(o.floor_us, 4e9 / 40e9 * 1e6, 1);
  EXPECT_LT(o.time_us, 1.01 * o.floor_us) << o.what;
}

TEST(Synthesis, GathersFromTwoPairsByBothWaysAcross) {
  // A ring sends 3/4 S over a PCIe port; trees from every rank that cross once by its own port send S/4.
  for (const collectives::Collective op :
       {collectives::Collective::kAllGather, collectives::Collective::kReduceScatter}) {
    const Outcome o = synthesize_on(lowering::two_pairs(), op, 4, 4 * kGB, true);
    EXPECT_NEAR(o.ring_us, 0.75 * 4e9 / 20e9 * 1e6, 1);
    EXPECT_NEAR(o.floor_us, 2e9 / 40e9 * 1e6, 1);
    EXPECT_LT(o.time_us, 1.01 * o.floor_us) << o.what;
  }
}

TEST(Synthesis, SparesTheGpuWithADeadLink) {
  // Seven ports of 450 GB/s and one of 337.5. With x S through each of the slow one's ports and y S through the other
  // seven, x + 7 y = 14 and x / 0.75 = y: y = 14 / 7.75 = 1.806, where a ring takes 1.75 / 0.75 = 2.333.
  topology::TopologyBuilder b = lowering::one_switch(8);
  b.degrade(static_cast<topology::LinkId>(0), 0.75);
  const Outcome o = synthesize_on(std::move(b).seal(), collectives::Collective::kAllReduce, 8, 9 * kGB, true, 4096);
  const double unit_us = 9e9 / 450e9 * 1e6;
  EXPECT_NEAR(o.ring_us, 2.333 * unit_us, 0.01 * unit_us);
  EXPECT_LT(o.time_us, 1.06 * 14 / 7.75 * unit_us) << o.what;
}

/// The hybrid cube mesh of eight V100: 25 GB/s per NVLink, and PCIe of 12 GB/s.
topology::NodeTemplate cube_mesh_node() {
  topology::NodeTemplate node;
  for (int g = 0; g < 8; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kCpu, "cpu0"));
  const std::uint32_t twice[][2] = {{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}};
  const std::uint32_t once[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}};
  for (const auto& [a, b] : twice)
    node.links.push_back({a, b, topology::test_link(topology::LinkKind::kNvlink, 50, Duration::ns(700))});
  for (const auto& [a, b] : once)
    node.links.push_back({a, b, topology::test_link(topology::LinkKind::kNvlink, 25, Duration::ns(700))});
  for (std::uint32_t g = 0; g < 8; ++g)
    node.links.push_back({g, 8, topology::test_link(topology::LinkKind::kPcie, 12, Duration::ns(700))});
  return node;
}
topology::TopologyBuilder cube_mesh() {
  topology::TopologyBuilder b;
  b.add_block(b.add_template(cube_mesh_node()));
  return b;
}

TEST(Synthesis, FillsTheLinksOfACubeMeshAndOfItsParts) {
  const topology::Topology t = cube_mesh().seal();
  for (std::uint32_t n = 2; n <= 8; ++n)
    for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllGather,
                                             collectives::Collective::kReduceScatter,
                                             collectives::Collective::kBroadcast, collectives::Collective::kReduce}) {
      const Outcome o = synthesize_on(t, op, n, kGB, false);
      EXPECT_LE(o.time_us, o.ring_us) << n << " " << collectives::name_of(op);
      EXPECT_GE(o.time_us, o.floor_us) << n << " " << collectives::name_of(op);
    }
  const Outcome o = synthesize_on(t, collectives::Collective::kAllReduce, 8, kGB, true);
  EXPECT_LT(o.time_us, 1.1 * o.floor_us) << o.what;  // 1.75 S / 150 GB/s
  EXPECT_LT(3 * o.time_us, o.ring_us) << o.what;
}

TEST(Synthesis, PassesLessBetweenNodesThanRingsOfAllRanks) {
  // Three nodes with eight NICs of 50 GB/s each: rings forward 2 x 23/24 S per node, trees over nodes 2 x 2/3 S; with
  // trees the 1.75 S inside at 450 GB/s are the limit.
  const Outcome o =
      synthesize_on(lowering::pods_of_eight(3).seal(), collectives::Collective::kAllReduce, 24, 40 * kGB, true, 4096);
  EXPECT_NEAR(o.ring_us, 2 * 23.0 / 24 * 40e9 / 400e9 * 1e6, 0.01 * o.ring_us);
  EXPECT_NEAR(o.time_us, 1.75 * 40e9 / 450e9 * 1e6, 0.02 * o.time_us) << o.what;
}

TEST(Synthesis, StaysNearTheFloorOver128Ranks) {
  // Sixteen nodes of eight NICs of 50 GB/s. No switch reduces: an all_reduce forwards 15/16 S twice per node.
  const topology::Topology t = lowering::pods_of_eight(16).seal();
  const double node_us = 40e9 / 400e9 * 1e6;
  EXPECT_LT(synthesize_on(t, collectives::Collective::kAllGather, 128, 40 * kGB, false, 512).time_us,
            1.05 * 15 / 16 * node_us);
  EXPECT_LT(synthesize_on(t, collectives::Collective::kReduceScatter, 128, 40 * kGB, false, 512).time_us,
            1.05 * 15 / 16 * node_us);
  EXPECT_LT(synthesize_on(t, collectives::Collective::kAllReduce, 128, 40 * kGB, false, 512).time_us,
            1.1 * 30 / 16 * node_us);
  for (const std::uint32_t root : {0u, 77u}) {
    EXPECT_LT(synthesize_on(t, collectives::Collective::kBroadcast, 128, 40 * kGB, false, 512, root).time_us,
              1.1 * node_us);
    EXPECT_LT(synthesize_on(t, collectives::Collective::kReduce, 128, 40 * kGB, false, 512, root).time_us,
              1.1 * node_us);
  }
}

TEST(Synthesis, ReducesOverRanksInAnyOrderAsFastAsInOrder) {
  const topology::Topology t = lowering::pods_of_eight(9).seal();
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  std::vector<topology::DeviceId> gpus(t.gpus().begin(), t.gpus().end());
  const auto time_us = [&] {
    const routing::Placement p(r, gpus);
    const auto engine = engine::make_analytic_engine(r, p, {});
    program::CollectiveCall c = lowering::test_call(72, "fastest", 40 * kGB, 256);
    const auto candidates = synthesize(r, p, c).value();
    CutTime cut(t, p);
    const SynthesizedCall best =
        pick_fastest(*engine, nullptr, cut, candidates, c, resolve_algorithm(*engine, p, t, c).value()).value();
    EXPECT_TRUE(!best.call.schedule || collectives::verify(*best.call.schedule).ok()) << best.what;
    return engine->time_alone(engine->prepare(best.call).value()).in_us();
  };
  const double in_order = time_us();
  RandomStream random(5, "shuffle");
  for (std::size_t i = gpus.size(); i > 1; --i) std::swap(gpus[i - 1], gpus[random.below(i)]);
  EXPECT_NEAR(time_us(), in_order, 0.02 * in_order);
}

TEST(Synthesis, GathersByAllNicsOfTheRootsNode) {
  // Direct messages arrive by the root's one NIC, 16/24 S at 50 GB/s. Over relays they use all eight NICs, and the
  // root's port of 450 GB/s carries 23/24 S.
  const topology::Topology t = lowering::pods_of_eight(3).seal();
  for (const collectives::Collective op : {collectives::Collective::kGather, collectives::Collective::kScatter})
    for (const std::uint32_t root : {0u, 13u}) {
      const Outcome o = synthesize_on(t, op, 24, 40 * kGB, true, 4096, root);
      EXPECT_LT(o.time_us, 1.05 * 23 / 24 * 40e9 / 450e9 * 1e6) << o.what;
      EXPECT_LE(o.time_us, o.textbook_us) << o.what;
      if (op == collectives::Collective::kGather) EXPECT_NEAR(o.textbook_us, 16.0 / 24 * 40e9 / 50e9 * 1e6, 100);
    }
}

TEST(Synthesis, GathersOver32NodesWithoutASearch) {
  const topology::Topology t = lowering::pods_of_eight(32).seal();
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  program::CollectiveCall c = lowering::test_call(256, "synthesized", 40 * kGB, 64);
  c.op = collectives::Collective::kGather;
  c.root = 77;
  const auto candidates = synthesize(r, p, c).value();
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].what, "255 paths, 217 of them over relays");
  EXPECT_TRUE(collectives::verify(*candidates[0].schedule).ok());
  const auto engine = engine::make_analytic_engine(r, p, {});
  c.schedule = candidates[0].schedule;  // 248/256 S by eight NICs of 50 GB/s
  const double us = engine->time_alone(engine->prepare(c).value()).in_us();
  EXPECT_NEAR(us, 248.0 / 256 * 40e9 / 400e9 * 1e6, 0.05 * us);
}

/// Nodes of eight V100 in a cube mesh with one NIC of 50 GB/s each, on one ideal switch.
topology::TopologyBuilder cube_meshes(std::uint32_t nodes) {
  topology::NodeTemplate node = cube_mesh_node();
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic0"));
  node.links.push_back({8, 9, topology::test_link(topology::LinkKind::kPcie, 100, Duration::ns(700))});
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (std::uint32_t i = 0; i < nodes; ++i) b.add_block(t);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t i = 0; i < nodes; ++i)
    b.connect(b.device(static_cast<topology::BlockId>(i), 9), hub,
              topology::test_link(topology::LinkKind::kInfiniband, 50, Duration::us(2)));
  return b;
}

TEST(Synthesis, PutsTreesOfTheNodeBelowTextbookAlgorithmsBetweenNodes) {
  // Rings inside the nodes use single links; trees use all six. Above 64 ranks nothing else is searched.
  topology::TopologyBuilder b = cube_meshes(9);
  b.degrade(static_cast<topology::LinkId>(16 * 2 + 24 * 2 * 4), 0.5);  // a link of the fifth node
  const topology::Topology t = std::move(b).seal();
  for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllGather,
                                           collectives::Collective::kReduceScatter}) {
    const Outcome o = synthesize_on(t, op, 72, 4 * kGB, false, 256);
    const double less =
        op == collectives::Collective::kAllReduce ? 1.1 : 1.3;  // forms of hierarchical() also use several links
    EXPECT_LT(less * o.time_us, o.textbook_us) << collectives::name_of(op) << " " << o.what;
    EXPECT_GE(o.time_us, o.floor_us) << collectives::name_of(op);
  }
  for (const std::uint32_t root : {0u, 11u, 71u})
    for (const collectives::Collective op : {collectives::Collective::kBroadcast, collectives::Collective::kReduce}) {
      const Outcome o = synthesize_on(t, op, 72, 4 * kGB, false, 256, root);
      EXPECT_LT(1.3 * o.time_us, o.textbook_us) << collectives::name_of(op) << " from " << root << " " << o.what;
      EXPECT_GE(o.time_us, o.floor_us) << collectives::name_of(op);
    }
}

TEST(Synthesis, LeavesNodesByTheNicsThatAreAlive) {
  // One of eight NICs is dead in the second of three nodes. If the other seven take an eighth more each, the GPUs'
  // ports are the limit as before; rails of equal weight wait for the NIC that carries two shares.
  topology::TopologyBuilder b = lowering::pods_of_eight(3);
  for (std::uint32_t l = 0; l < b.peek().link_count(); ++l)
    if (b.peek().link_class(static_cast<topology::LinkId>(l)).kind == topology::LinkKind::kInfiniband &&
        b.peek().from(static_cast<topology::LinkId>(l)) == b.device(static_cast<topology::BlockId>(1), 9 + 2))
      b.fail(static_cast<topology::LinkId>(l));
  const Outcome o = synthesize_on(std::move(b).seal(), collectives::Collective::kAllReduce, 24, 40 * kGB, true, 1024);
  EXPECT_LT(o.time_us, 1.03 * 1.75 * 40e9 / 450e9 * 1e6) << o.what;
  EXPECT_LT(1.05 * o.time_us, o.textbook_us) << o.what;
}

RC_GTEST_PROP(Synthesis, NeverLosesToATextbookAlgorithmWhateverIsDamaged, ()) {
  RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "damage");
  const topology::Topology t = [&] {
    if (random.below(2) == 0) return lowering::random_machine(random);
    topology::TopologyBuilder b = cube_mesh();
    for (int d = 0; d < 4; ++d) {
      const auto l = static_cast<topology::LinkId>(random.below(b.peek().link_count()));
      if (random.below(2) == 0 && !topology::is_in_server(b.peek().link_class(l).kind) && !b.peek().failed(l))
        b.fail(l);
      else if (!b.peek().failed(l))
        b.degrade(l, 0.05 + 0.9 * random.uniform());
    }
    return std::move(b).seal();
  }();
  const auto n = static_cast<std::uint32_t>(t.gpus().size());
  const auto op = static_cast<collectives::Collective>(random.below(8));
  const bool rooted = op != collectives::Collective::kAllReduce && op != collectives::Collective::kAllGather &&
                      op != collectives::Collective::kReduceScatter && op != collectives::Collective::kAllToAll;
  const auto root = static_cast<std::uint32_t>(rooted ? random.below(n) : 0);
  const std::uint64_t bytes = 1 + random.below(std::uint64_t{1} << random.below(34));
  for (const bool flow : {false, true}) {
    const Outcome o = synthesize_on(t, op, n, bytes, flow, 1 + static_cast<std::uint32_t>(random.below(64)), root);
    RC_ASSERT(o.time_us <= o.ring_us);
    RC_ASSERT(o.time_us <= o.textbook_us);
    if (o.time_us < o.floor_us * (1 - 1e-9) - 1e-6)
      RC_FAIL(o.what + " takes " + std::to_string(o.time_us) + " us, floor " + std::to_string(o.floor_us));
  }
}

RC_GTEST_PROP(CheapestRing, IsExactWhereItSaysSo, ()) {
  const auto n = *rc::gen::inRange<std::uint32_t>(3, 8);
  RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "prices");
  PairPrices c(n, 0);
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) c.at(a, b) = random.uniform();
  const auto cost = [&](const std::vector<std::uint32_t>& order) {
    double sum = 0;
    for (std::uint32_t p = 0; p < n; ++p) sum += c.at(order[p], order[(p + 1) % n]);
    return sum;
  };
  std::vector<std::uint32_t> order(n);
  for (std::uint32_t i = 0; i < n; ++i) order[i] = i;
  const double found = cost(cheapest_ring(c, order));
  double best = cost(order);
  while (std::next_permutation(order.begin() + 1, order.end())) best = std::min(best, cost(order));
  RC_ASSERT(std::abs(found - best) < 1e-9);
}

TEST(Trees, HangByTheirCentre) {
  const collectives::GivenTree t = rooted_at_centre({{1}, {2, 0}, {1, 3}, {4, 2}, {3}});  // the path 0 - 1 - 2 - 3 - 4
  EXPECT_EQ(t.position, (std::vector<std::uint32_t>{2, 1, 3, 0, 4}));
  EXPECT_EQ(t.parent, (std::vector<std::uint32_t>{0, 0, 0, 1, 2}));
  EXPECT_EQ(rooted_at({{1}, {0, 2}, {1}}, 2).position, (std::vector<std::uint32_t>{2, 1, 0}));
}

/// The fastest among textbook algorithms and schedules made for the machine.
Duration fastest_of_all(engine::Engine& engine, const routing::Router& r, const routing::Placement& p,
                        program::CollectiveCall c) {
  const program::CollectiveCall textbook = resolve_algorithm(engine, p, r.topology(), c).value();
  CutTime cut(r.topology(), p);
  const SynthesizedCall best = pick_fastest(engine, nullptr, cut, synthesize(r, p, c).value(), c, textbook).value();
  return engine.time_alone(engine.prepare(best.call).value());
}

TEST(Synthesis, BroadcastsAndReducesNoSlowerThanItsHalvesAndThanAnAllReduce) {
  for (unsigned seed = 0; seed < 16; ++seed) {
    RandomStream random(seed, "machines for broadcasts");
    const topology::Topology t = lowering::random_machine(random);
    const routing::Router r(t, seed % 2 == 0 ? topology::RoutingPolicy::kSpray : topology::RoutingPolicy::kStatic);
    const routing::Placement p(r, t.gpus());
    engine::EngineOptions options;
    options.protocol.chunk = Bytes{1 << 19};
    const auto engine = engine::make_analytic_engine(r, p, options);
    const auto n = static_cast<std::uint32_t>(t.gpus().size());
    program::CollectiveCall c = lowering::test_call(n, "fastest", 1024ull << (2 * random.below(10)), 0);
    const auto time_us = [&](collectives::Collective op, std::uint32_t root) {
      c.op = op;
      c.root = root;
      return fastest_of_all(*engine, r, p, c).in_us();
    };
    const double sums = time_us(collectives::Collective::kAllReduce, 0);
    const double broadcast = time_us(collectives::Collective::kBroadcast, seed % n);
    const double up =
        time_us(collectives::Collective::kScatter, seed % n) + time_us(collectives::Collective::kAllGather, 0);
    EXPECT_LE(broadcast, up + 1e-5) << seed;
    const double reduce = time_us(collectives::Collective::kReduce, seed % n);
    const double down =
        time_us(collectives::Collective::kReduceScatter, 0) + time_us(collectives::Collective::kGather, seed % n);
    EXPECT_LE(reduce, 1.05 * down) << seed;  // a gather may use relays
    EXPECT_LE(broadcast, sums + 1e-5) << seed;
    EXPECT_LE(reduce, 1.02 * sums) << seed;  // at most 1.011
  }
}

}  // namespace
}  // namespace busbar::choice
