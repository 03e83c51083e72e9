// Calls of several channels as fluids against the same schedules message by message.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/random.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/random_machine.h"
#include "busbar/lowering/test_network.h"

namespace busbar::engine {
namespace {

/// Nodes of `gpus` GPUs on a switch, `nics` NICs of 50 GB/s on one ideal switch.
struct PodShape {
  std::uint32_t nodes = 2, gpus = 8, nics = 8;
  std::uint64_t nvlink_gbyte_per_s = 450;
  Duration nvlink_latency = Duration::ns(300), cable_latency = Duration::ns(900);
};

topology::Topology pods(const PodShape& shape) {
  topology::NodeTemplate node;
  node.name = "pod";
  for (std::uint32_t g = 0; g < shape.gpus; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  for (std::uint32_t g = 0; g < shape.gpus; ++g)
    node.links.push_back(
        {g, shape.gpus,
         topology::test_link(topology::LinkKind::kNvlink, shape.nvlink_gbyte_per_s, shape.nvlink_latency)});
  for (std::uint32_t k = 0; k < shape.nics; ++k) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic" + std::to_string(k)));
    node.links.push_back(
        {k % shape.gpus, shape.gpus + 1 + k, topology::test_link(topology::LinkKind::kPcie, 64, Duration::ns(400))});
  }
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (std::uint32_t i = 0; i < shape.nodes; ++i) b.add_block(t);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t i = 0; i < shape.nodes; ++i)
    for (std::uint32_t k = 0; k < shape.nics; ++k)
      b.connect(b.device(static_cast<topology::BlockId>(i), shape.gpus + 1 + k), hub,
                topology::test_link(topology::LinkKind::kInfiniband, 50, shape.cable_latency));
  return std::move(b).seal();
}

/// The call with its schedule laid out, on at most `channels` channels.
program::CollectiveCall laid_out(const lowering::TestNetwork& m, program::CollectiveCall call, std::uint32_t channels) {
  const std::uint32_t per_domain = lowering::ranks_per_domain(call, m.topology, m.placement);
  collectives::Schedule s = lowering::build_for_call(call, m.topology, m.placement, per_domain, channels).value();
  call.channels = s.channels;
  call.schedule = std::make_shared<const collectives::Schedule>(std::move(s));
  return call;
}

double fluids_us(const lowering::TestNetwork& m, const program::CollectiveCall& call) {
  const auto engine = make_flow_engine(m.router, m.placement, {});
  return engine->time_alone(engine->prepare(call).value()).in_us();
}

double messages_us(const lowering::TestNetwork& m, const program::CollectiveCall& call) {
  const collectives::ExecutionPlan plan = collectives::plan_of(*call.schedule, false).value();
  const program::MessageGraph graph =
      program::messages_of(plan, call.bytes, std::max(call.chunks, 1u), program::LoopOrder::kStepByStep).value();
  return run_messages(m.router, m.placement, {}, program::Protocol::kSimple, graph)->end.since_start().in_us();
}

/// Of fluids from messages, in percent.
double difference(const lowering::TestNetwork& m, const program::CollectiveCall& call) {
  const double us = messages_us(m, call);
  return 100 * (fluids_us(m, call) / us - 1);
}

// docs/models/flow.md, "Rings of several channels".
TEST(Engines, RingsOfSeveralChannelsTakeAsLongAsTheirMessages) {
  for (const std::uint32_t nodes : {1u, 2u, 4u})
    for (const std::uint64_t rate : {450ul, 300ul}) {
      const lowering::TestNetwork m(pods({.nodes = nodes, .nvlink_gbyte_per_s = rate}));
      for (const std::uint32_t channels : {1u, 2u, 3u, 4u, 6u, 8u})
        for (const std::uint64_t bytes : {64ul << 10, 1ul << 20, 4ul << 20, 16ul << 20, 64ul << 20, 1ul << 30}) {
          const program::CollectiveCall call = laid_out(m, lowering::test_call(8 * nodes, "ring", bytes), channels);
          EXPECT_NEAR(difference(m, call), 0, call.channels == 1 ? 0.01 : 2)
              << nodes << " nodes, " << rate << " GB/s, " << channels << " channels, " << bytes << " bytes";
        }
    }
}

// More sends than are followed one by one.
TEST(Engines, RingsOfManySendsTakeAboutAsLongAsTheirMessages) {
  const lowering::TestNetwork m(pods({.nodes = 8}));
  for (const std::uint64_t bytes : {1ul << 20, 16ul << 20, 64ul << 20, 1ul << 30}) {
    const program::CollectiveCall call = laid_out(m, lowering::test_call(64, "ring", bytes), 8);
    EXPECT_NEAR(difference(m, call), 0, 2) << bytes << " bytes";
  }
}

// docs/models/flow.md, "Trees and chains". Reductions in one piece meet at the root, where who is first decides.
TEST(Engines, TreesAndChainsOfSeveralChannelsTakeAboutAsLongAsTheirMessages) {
  for (const std::uint32_t nodes : {1u, 2u, 4u}) {
    const lowering::TestNetwork m(pods({.nodes = nodes}));
    for (const auto& [algorithm, op, whole, pipelined] :
         {std::tuple("tree", collectives::Collective::kAllReduce, 2.0, 5.0),
          {"tree", collectives::Collective::kBroadcast, 5.0, 3.0},
          {"tree", collectives::Collective::kReduce, 24.0, 3.5},
          {"ring", collectives::Collective::kBroadcast, 12.0, 10.0}})
      for (const std::uint32_t channels : {2u, 4u, 8u, 16u})
        for (const auto& [bytes, chunks] :
             {std::pair(1ul << 20, 1u), {64ul << 20, 1u}, {64ul << 20, 8u}, {1ul << 20, 8u}}) {
          program::CollectiveCall call = lowering::test_call(8 * nodes, algorithm, bytes, chunks);
          call.op = op;
          call = laid_out(m, call, channels);
          EXPECT_NEAR(difference(m, call), 0, chunks == 1 ? whole : pipelined)
              << algorithm << " " << collectives::name_of(op) << " over " << nodes << " nodes, " << call.channels
              << " channels, " << chunks << " chunks, " << bytes << " bytes";
        }
  }
}

// docs/models/flow.md, "Stepwise phases": ranks run ahead of each other, and rounds meet.
TEST(Engines, RoundsThatMeetTakeAsLongAsTheirMessages) {
  for (const std::uint32_t nodes : {1u, 2u, 3u}) {
    const lowering::TestNetwork m(pods({.nodes = nodes}));
    for (const auto& [algorithm, op] : {std::pair("pairwise", collectives::Collective::kAllToAll),
                                        {"bruck", collectives::Collective::kAllToAll},
                                        {"bruck", collectives::Collective::kAllGather},
                                        {"pat", collectives::Collective::kReduceScatter},
                                        {"halving_doubling", collectives::Collective::kAllReduce}})
      for (const std::uint64_t bytes : {64ul << 10, 1ul << 20, 16ul << 20, 256ul << 20}) {
        program::CollectiveCall call = lowering::test_call(8 * nodes, algorithm, bytes, 1);
        call.op = op;
        EXPECT_NEAR(difference(m, laid_out(m, call, 1)), 0, 2)
            << algorithm << " " << collectives::name_of(op) << " over " << nodes << " nodes, " << bytes << " bytes";
      }
  }
}

/// Of the call as fluids.
lowering::Simplifications simplified(const lowering::TestNetwork& m, const program::CollectiveCall& call) {
  lowering::Simplifications out;
  const lowering::LoweredCall lowered = lowering::Lowering(m.router, m.placement, {}).lower(call).value();
  for (const lowering::Stage& s : lowered.stages) out.add(s.simplified);
  return out;
}

// docs/models/flow.md, "Simplified calls".
TEST(Engines, CallsThatAreNotFollowedSaySoAndHowFarTheyAreFromTheirMessages) {
  const auto check = [](std::uint32_t nodes, const char* algorithm, collectives::Collective op, std::uint64_t bytes,
                        std::uint32_t chunks, std::uint32_t channels, lowering::Simplification expected) {
    const lowering::TestNetwork m(pods({.nodes = nodes}));
    program::CollectiveCall call = lowering::test_call(8 * nodes, algorithm, bytes, chunks);
    call.op = op;
    call = laid_out(m, call, channels);
    EXPECT_TRUE(simplified(m, call).has(expected)) << algorithm << " over " << nodes << " nodes";
    const double more = 100 * (messages_us(m, call) / fluids_us(m, call) - 1);
    EXPECT_GE(more, lowering::effect_of(expected).low_percent) << algorithm << " over " << nodes << " nodes, " << bytes;
    EXPECT_LE(more, lowering::effect_of(expected).high_percent)
        << algorithm << " over " << nodes << " nodes, " << bytes;
    call.bytes = Bytes{8 * call.groups.size()};
    bool any = false;
    simplified(m, call).for_each([&](lowering::Simplification) { any = true; });
    EXPECT_FALSE(any) << algorithm << " of a few bytes, which hardly load a link";
  };
  constexpr std::uint64_t kMiB = 1 << 20;
  for (const std::uint64_t bytes : {16 * kMiB, 256 * kMiB}) {
    check(9, "pairwise", collectives::Collective::kAllToAll, bytes, 1, 8, lowering::Simplification::kRoundsApart);
    check(8, "ring", collectives::Collective::kAllReduce, bytes / 4, 1, 8, lowering::Simplification::kRingsByLaw);
    for (const std::uint32_t chunks : {1u, 16u})
      check(2, "hierarchical", collectives::Collective::kAllReduce, bytes, chunks, 8,
            lowering::Simplification::kPhasesInTurn);
    check(18, "tree", collectives::Collective::kAllReduce, bytes, 8, 16, lowering::Simplification::kFirstChunk);
    check(2, "tree", collectives::Collective::kReduce, bytes, 1, 8, lowering::Simplification::kOnePieceTrees);
    check(2, "ring", collectives::Collective::kBroadcast, bytes, 1, 8, lowering::Simplification::kOnePieceTrees);
  }
  const lowering::TestNetwork m(pods({.nodes = 2}));
  bool any = false;
  for (const char* algorithm : {"pairwise", "tree", "ring"}) {
    program::CollectiveCall call = lowering::test_call(16, algorithm, 16 * kMiB, 1);
    if (algorithm[0] == 'p') call.op = collectives::Collective::kAllToAll;
    simplified(m, laid_out(m, call, 8)).for_each([&](lowering::Simplification) { any = true; });
  }
  EXPECT_FALSE(any) << "all of these are followed";
}

TEST(Engines, OneMoreNicNeverSlowsACall) {
  RandomStream random(14, "NICs");
  for (int i = 0; i < 150; ++i) {
    PodShape shape;
    shape.nodes = static_cast<std::uint32_t>(2 + random.below(3));
    shape.gpus = static_cast<std::uint32_t>(2 + random.below(7));
    shape.nics = static_cast<std::uint32_t>(1 + random.below(shape.gpus - 1));
    shape.nvlink_gbyte_per_s = 30 + random.below(420);
    shape.nvlink_latency = Duration::ns(static_cast<std::int64_t>(random.below(2000)));
    shape.cable_latency = Duration::ns(static_cast<std::int64_t>(random.below(4000)));
    const char* const algorithms[] = {"ring", "tree", "hierarchical", "halving_doubling", "direct"};
    const auto bytes = static_cast<std::uint64_t>(std::exp2(10 + 20 * random.uniform()));
    program::CollectiveCall call = lowering::test_call(shape.nodes * shape.gpus, algorithms[random.below(5)], bytes, 0);
    if (random.below(3) == 0 && call.algorithm != "tree") call.op = collectives::Collective::kAllGather;
    const double before = fluids_us(lowering::TestNetwork(pods(shape)), call);
    ++shape.nics;
    // Of more channels, others meet in a round: the messages of a ring too take 1.3 % longer with 8 NICs than with 7.
    const double slack = call.algorithm == "ring" ? 2.5e-2 : call.algorithm == "tree" ? 1e-2 : 1e-6;
    EXPECT_LE(fluids_us(lowering::TestNetwork(pods(shape)), call), before * (1 + slack))
        << call.algorithm << " " << collectives::name_of(call.op) << " of " << bytes << " over " << shape.nodes
        << " nodes of " << shape.gpus << " GPUs, then with " << shape.nics << " NICs, NVLink "
        << shape.nvlink_gbyte_per_s << " GB/s";
  }
}

// A part that is charged to the bytes on a link is no longer than all bytes that the call sends over that link take.
TEST(Engines, NoPartOfAnExplanationIsLongerThanItsLinkIsBusy) {
  RandomStream random(15, "parts");
  std::uint32_t parts = 0;
  for (int i = 0; i < 200; ++i) {
    const lowering::TestNetwork m(lowering::random_machine(random));
    const char* const algorithms[] = {"ring", "tree", "hierarchical", "halving_doubling"};
    const auto bytes = static_cast<std::uint64_t>(std::exp2(10 + 18 * random.uniform()));
    const program::CollectiveCall call =
        lowering::test_call(m.gpus(), algorithms[random.below(4)], bytes, random.below(2) == 0 ? 1 : 8);
    lowering::Lowering lowering(m.router, m.placement, {});
    const auto lowered = lowering.lower(call);
    if (!lowered.ok()) continue;
    std::vector<double> busy_ps(m.topology.link_count(), 0.0);
    for (const lowering::Stage& s : lowered->stages)
      for (const lowering::Fluid& f : s.fluids)
        for (std::uint32_t k = f.begin; k < f.end; ++k)
          lowering.capacities().for_each_link(s.on[k], [&](topology::LinkId l, double part) {
            busy_ps[index(l)] += s.weight[k] * f.bytes * part / lowering.capacities().rate(l);
          });
    const auto chain = lowering.explain(call).value();
    EXPECT_NEAR(lowering::sum_ps(chain), lowering::closed_form_ps(*lowered), 1e-6 * lowering::closed_form_ps(*lowered));
    for (const lowering::ChainPart& p : chain) {
      if (p.kind != lowering::ChainPartKind::kBandwidth || p.rounds > 0) continue;
      EXPECT_LE(p.ps, busy_ps[index(p.link)] * (1 + 1e-6)) << call.algorithm << " " << p.phase << " " << bytes;
      ++parts;
    }
  }
  EXPECT_GT(parts, 20u);
}

}  // namespace
}  // namespace busbar::engine
