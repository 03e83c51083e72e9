#include "busbar/predict/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "busbar/packet/collective_flows.h"

namespace busbar::predict {
namespace {

using ::testing::HasSubstr;

Prediction all_reduce(Predictor& machine, std::uint64_t size, const std::string& algorithm = "auto",
                      program::Protocol protocol = program::Protocol::kAuto) {
  program::CollectiveCall call = call_over(collectives::Collective::kAllReduce, Bytes{size}, machine.ranks());
  call.algorithm = algorithm;
  call.protocol = protocol;
  return machine.time(call).value();
}

std::unique_ptr<Predictor> on(const std::string& cluster, PredictPolicy policy = {}) {
  return Predictor::make(spec::load_cluster(cluster).value(), {}, std::move(policy)).value();
}

TEST(Predictor, NvlsLiftsBusBandwidthAboveTheRateOfALink) {
  auto m = Predictor::make(spec::load_cluster("dgx-h100").value(), {}).value();
  const std::uint64_t size = std::uint64_t{8} << 30;
  const Prediction p = all_reduce(*m, size);
  EXPECT_GT(p.algbw() * bus_factor(collectives::Collective::kAllReduce, 8), 450);
  EXPECT_EQ(p.algorithm, "nvls");
}

TEST(Predictor, ATreeOverTwoNodesFlattersTheirNics) {
  auto m = Predictor::make(spec::load_cluster("dgx-a100:2").value(), {}).value();
  const std::uint64_t size = std::uint64_t{1} << 30;
  const Prediction tree = all_reduce(*m, size, "tree");
  // Across two nodes a tree moves each byte once per direction. So bus bandwidth may exceed the NICs' 8 x 25 GB/s.
  EXPECT_GT(tree.algbw() * bus_factor(collectives::Collective::kAllReduce, 16), 150);
  EXPECT_GE(tree.time, tree.floor.time);
}

TEST(Predictor, EightGpusOfAFullMeshHaveRingsOverAllSevenLinks) {
  auto m = Predictor::make(spec::load_cluster("mi300x-8").value(), {}).value();
  const std::uint64_t size = std::uint64_t{8} << 30;
  const double bus = all_reduce(*m, size, "ring", program::Protocol::kSimple).algbw() *
                     bus_factor(collectives::Collective::kAllReduce, 8);
  EXPECT_GT(bus, 6.5 * 48 * m->cluster().protocol.share_scale_up);
  EXPECT_LT(bus, 7 * 48);
}

TEST(Predictor, FlagsAmongTheDataSaveTimePerSendAndCostBandwidth) {
  auto m = Predictor::make(spec::load_cluster("dgx-a100").value(), {}).value();
  const auto us = [&](std::uint64_t size, program::Protocol p) { return all_reduce(*m, size, "ring", p).time.in_us(); };
  EXPECT_LT(us(1024, program::Protocol::kLl), us(1024, program::Protocol::kLl128));
  EXPECT_LT(us(1024, program::Protocol::kLl128), us(1024, program::Protocol::kSimple));
  const std::uint64_t large = std::uint64_t{4} << 30;
  EXPECT_NEAR(us(large, program::Protocol::kLl) / us(large, program::Protocol::kSimple),
              1 / m->cluster().protocol.ll.efficiency, 0.02);
  EXPECT_NEAR(us(large, program::Protocol::kLl128) / us(large, program::Protocol::kSimple), 128.0 / 120, 0.02);
}

TEST(Predictor, SubsetsOfACubeMeshHaveTheRingsThatTheirNvlinksAllow) {
  const auto bus = [](std::uint32_t gpus) {
    spec::Cluster c = spec::load_cluster("dgx-1v").value();
    std::vector<topology::DeviceId> ids(c.topology.gpus().begin(), c.topology.gpus().begin() + gpus);
    auto m = Predictor::make(std::move(c), ids).value();
    const std::uint64_t size = std::uint64_t{1} << 30;
    return all_reduce(*m, size).algbw() * bus_factor(collectives::Collective::kAllReduce, gpus);
  };
  EXPECT_GT(bus(8), bus(2));  // rings of eight use six links, GPUs 0 and 1 have one
  EXPECT_GT(bus(4), bus(3));  // a ring of three GPUs has only single links, one of four has double ones
}

TEST(Predictor, CopiesThroughHostMemoryLoadTheSharedUplinkTwice) {
  const auto us = [](bool p2p) {
    const std::string text = std::string(
                                 "name: c\nnode: {base: pcie-cards-switched, gpu: rtx4090, gpus: 2, switches: 1, "
                                 "cpus: 1, link: pcie4, p2p: ") +
                             (p2p ? "true" : "false") + "}\n";
    auto m = Predictor::make(spec::parse_cluster(text, "c.yaml").value(), {}).value();
    return all_reduce(*m, std::uint64_t{1} << 30, "ring", program::Protocol::kSimple).time.in_us();
  };
  EXPECT_GT(us(false), 1.7 * us(true));
}

TEST(Predictor, EachJobHasRingsOfItsOwn) {
  // GPUs 0 to 3 and 4 to 7 of a cube mesh are equal: two jobs that share no link take as long as one.
  auto m = on("dgx-1v");
  const program::CollectiveCall half = call_over(collectives::Collective::kAllReduce, Bytes{1u << 30}, 4);
  const Prediction one = m->time(half).value(), two = m->time(half, {.jobs = 2}).value();
  ASSERT_NE(one.call.schedule, nullptr);
  EXPECT_EQ(two.jobs, (std::vector<Duration>{one.time, one.time}));
}

TEST(Predictor, TheFastestOfAllIsNeverSlowerThanNcclsChoice) {
  for (const char* cluster : {"dgx-1v", "hgx-a100-4", "dgx-h100:2"})
    for (const std::uint64_t size : {8ull, 65536ull, 1ull << 30}) {
      auto m = on(cluster);
      EXPECT_LE(all_reduce(*m, size, "fastest").time, all_reduce(*m, size).time) << cluster << " " << size;
    }
}

TEST(Predictor, AnAlgorithmForNcclCountsAsGiven) {
  auto m = on("dgx-h100");
  EXPECT_EQ(all_reduce(*m, 1u << 30).chosen_by, ChosenBy::kNccl);
  EXPECT_EQ(all_reduce(*m, 1u << 30, "ring").chosen_by, ChosenBy::kGiven);
  EXPECT_EQ(all_reduce(*m, 1u << 30, "fastest").chosen_by, ChosenBy::kFastest);
}

TEST(Predictor, APreparedCallTakesTheTimeOfTheSameCallAlone) {
  for (const char* cluster : {"dgx-1v", "mi300x-8", "dgx-h100:4", "ac922-6:2", "tpu-v4"}) {
    SCOPED_TRACE(cluster);
    auto m = on(cluster);
    program::Program program;
    for (const collectives::Collective op :
         {collectives::Collective::kAllReduce, collectives::Collective::kAllGather, collectives::Collective::kAllToAll})
      for (const std::uint64_t size : {8ull, 16ull << 20}) {
        program.calls.push_back(call_over(op, Bytes{size}, m->ranks() / 2));
        program.calls.push_back(program.calls.back());
        program.calls.back().groups.base = m->ranks() / 2;
      }
    const std::vector<program::CollectiveCall> asked = program.calls;
    ASSERT_TRUE(m->prepare(program).ok());
    const auto engine = m->open_engine();
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const program::CallId id = engine->prepare(program.calls[i]).value();
      EXPECT_EQ(engine->time_alone(id), m->time(asked[i], kTimeAlone).value().time) << i;
    }
  }
}

TEST(Predictor, APreparedCallTakesTheTimeOfTheSameCallAloneOnAnyBoard) {
  constexpr std::size_t kMost = 32;  // ranks: pods would take minutes
  std::uint32_t times = 0;
  for (const std::string& node : spec::Catalog().names("nodes")) {
    const auto loaded = spec::load_cluster(node);
    if (!loaded.ok() || loaded->topology.gpus().size() < 2 || loaded->topology.gpus().size() > kMost) continue;
    auto m = on(node);
    const auto engine = m->open_engine();
    for (const collectives::Collective op :
         {collectives::Collective::kAllReduce, collectives::Collective::kAllGather,
          collectives::Collective::kReduceScatter, collectives::Collective::kBroadcast,
          collectives::Collective::kReduce, collectives::Collective::kAllToAll, collectives::Collective::kGather,
          collectives::Collective::kScatter, collectives::Collective::kSendRecv})
      for (const std::uint64_t size : {8ull, 64ull << 10, 16ull << 20, 1ull << 30}) {
        const program::CollectiveCall asked = call_over(op, Bytes{size}, m->ranks());
        const auto alone = m->time(asked, kTimeAlone);
        const auto prepared = m->prepare(asked);
        ASSERT_EQ(alone.ok(), prepared.ok()) << node;
        if (!alone.ok()) continue;
        EXPECT_EQ(engine->time_alone(engine->prepare(*prepared).value()), alone->time)
            << node << " " << collectives::name_of(op) << " " << size;
        ++times;
      }
  }
  EXPECT_GT(times, 2000u);
}

TEST(Predictor, GroupsOnDifferentGpusHaveCommunicatorsOfTheirOwn) {
  // Eight groups at once, each of one GPU per server: each has its own NIC, so they take as long as one of them.
  auto m = on("dgx-h100:4");
  program::CollectiveCall one = call_over(collectives::Collective::kReduceScatter, Bytes{1u << 30}, 4), all = one;
  one.groups.inner = all.groups.inner = {{4, 8, 0}};
  all.groups.outer = {{8, 1, 0}};
  const program::CollectiveCall prepared = m->prepare(all).value();
  ASSERT_NE(prepared.schedule, nullptr);
  ASSERT_NE(prepared.nics, nullptr);
  EXPECT_EQ(m->time(all, kTimeAlone).value().time, m->time(one, kTimeAlone).value().time);
}

// Each of eight GPUs sends 7/8 of the buffer twice over one of the links of its rings.
TEST(Predictor, TheFloorOfAnAlgorithmIsItsBusiestLinkAtWireRate) {
  auto m = on("dgx-h100");
  const std::uint64_t size = std::uint64_t{1} << 30;
  const Prediction ring = all_reduce(*m, size, "ring", program::Protocol::kSimple);
  EXPECT_NEAR(ring.algorithm_floor.in_s(), 1.75 * static_cast<double>(size) / 450e9, 2e-5);
  EXPECT_GE(ring.time, ring.algorithm_floor);
  EXPECT_GT(all_reduce(*m, size, "ring", program::Protocol::kLl).algorithm_floor, ring.algorithm_floor)
      << "flags take half";
}

TEST(Predictor, AnEngineOfAWhatIfHasItsRates) {
  auto m = on("dgx-h100");
  const program::CollectiveCall call =
      m->prepare(call_over(collectives::Collective::kAllGather, Bytes{1u << 30}, 8)).value();
  const auto time = [&](const lowering::WhatIf& what_if) {
    const auto engine = m->open_engine(what_if);
    return engine->time_alone(engine->prepare(call).value());
  };
  lowering::WhatIf twice{.link_classes = {}, .rate_factor = 2};
  const Duration before = time({});
  EXPECT_EQ(time(twice), before) << "of no link";
  for (std::size_t c = 0; c < m->cluster().topology.link_classes().size(); ++c)
    twice.link_classes.push_back(static_cast<std::uint16_t>(c));
  EXPECT_LT(time(twice) * 5, before * 3);
  EXPECT_EQ(time({}), before);
}

TEST(Predictor, DelaysOfMessagesSpreadTheTimeOfOneJob) {
  PredictPolicy policy;
  policy.delays = {{topology::LinkId{0}, 0.01, Duration::us(50)}};
  auto m = on("dgx-h100", policy);
  const program::CollectiveCall half = call_over(collectives::Collective::kAllReduce, Bytes{1u << 20}, 4);
  const Prediction one = m->time(half, kTimeAlone).value();
  ASSERT_TRUE(one.jitter.has_value());
  EXPECT_EQ(one.jitter->without, on("dgx-h100")->time(half, kTimeAlone)->time);
  EXPECT_GT(one.time, one.jitter->without);
  EXPECT_FALSE(m->time(half, {.jobs = 2})->jitter.has_value());
  EXPECT_FALSE(on("dgx-h100")->time(half, kTimeAlone)->jitter.has_value());
}

TEST(Predictor, RanksWithoutAGpuAreRefused) {
  auto m = on("dgx-h100");
  const auto p = m->time(call_over(collectives::Collective::kAllReduce, Bytes{8}, 9));
  ASSERT_FALSE(p.ok());
  EXPECT_THAT(p.error().text(), HasSubstr("rank 8 has no GPU"));
}

TEST(Predictor, ALoopTakesAtLeastAsLongAsItsHostNeedsForTheGpusOfANode) {
  const Duration per_gpu = Duration::us(4);
  const auto one = on("dgx-a100", {.host_per_gpu = per_gpu});
  const auto two = on("dgx-a100:2", {.host_per_gpu = per_gpu});
  const auto plain = on("dgx-a100");
  const Prediction small = all_reduce(*one, 8);
  EXPECT_EQ(small.time, per_gpu * 8);
  EXPECT_EQ(small.time - small.host_wait, all_reduce(*plain, 8).time);
  EXPECT_THAT(small.cause, HasSubstr("the host"));
  EXPECT_GE(all_reduce(*two, 8).time, per_gpu * 8);  // each node has a host of its own
  EXPECT_LT(all_reduce(*two, 8).time, per_gpu * 16);
  const std::uint64_t large = std::uint64_t{1} << 30;
  EXPECT_EQ(all_reduce(*one, large).time, all_reduce(*plain, large).time);
  program::CollectiveCall call = call_over(collectives::Collective::kAllReduce, Bytes{8}, 8);
  const Prediction explained = one->time(call, {.explain = true}).value();
  EXPECT_NEAR(lowering::sum_ps(explained.chain), static_cast<double>(explained.time.in_ps()), 2);
  EXPECT_TRUE(explained.relief.empty());  // no link changes what the host needs
  EXPECT_EQ(explained.chain.back().phase, "wait for the host");
  EXPECT_EQ(explained.chain.back().rounds, 0u) << "of the host, not of sends";
}

TEST(Predictor, StopsWhenItIsAskedTo) {
  volatile std::sig_atomic_t stop = 0;
  for (const char* engine : {"flow", "analytic"}) {
    auto m = on("dgx-h100", {.engine = engine, .stop = &stop});
    const program::CollectiveCall call = call_over(collectives::Collective::kAllReduce, Bytes{1 << 20}, 8);
    EXPECT_TRUE(m->time(call).ok());
    stop = 1;
    const auto ended = m->time(call);
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().text(), interrupted().text());
    stop = 0;
  }
}

/// Each rank sends the others between one and 16 pieces.
program::CollectiveCall uneven_exchange(std::uint32_t n, Bytes bytes) {
  program::CollectiveCall call = call_over(collectives::Collective::kAllToAllV, bytes, n);
  call.pairs.begin = {0};
  for (std::uint32_t from = 0; from < n; ++from)
    for (std::uint32_t to = 0; to < n; ++to)
      call.pairs.begin.push_back(call.pairs.begin.back() + (from == to ? 0 : 1 + from * from * 7 % 11 * to % 16));
  return call;
}

// Fair shares leave a port idle that the closed form fills.
TEST(Predictor, TimesCallsByTheEngineOfItsPolicy) {
  const auto times = [](const char* engine) {
    auto m = on("hgx-a100-4:3", {.engine = engine});
    const program::CollectiveCall call = uneven_exchange(12, Bytes{1u << 30});
    const Duration time = m->time(call, kTimeAlone)->time;
    const auto same = m->open_engine();
    EXPECT_EQ(time, same->time_alone(same->prepare(m->prepare(call).value()).value())) << engine;
    return time;
  };
  EXPECT_GT(times("flow"), times("analytic"));
}

// What the fluids of the same call would wait for is another chain.
TEST(Predictor, ExplainsATimeOfPacketsByPackets) {
  auto m = on("hgx-a100-4:3", {.engine = "packet", .packets = packet::PacketOptions()});
  const program::CollectiveCall call = call_over(collectives::Collective::kAllReduce, Bytes{1u << 20}, 12);
  const Prediction p = m->time(call, {.explain = true}).value();
  std::vector<lowering::ChainPart> chain;
  const std::vector<program::CollectiveCall> jobs{p.call};
  const auto run =
      packet::run_packet_jobs(jobs, m->router(), m->placement(), m->protocol(), *m->policy().packets, &chain);
  ASSERT_TRUE(run.ok());
  ASSERT_TRUE(p.packets.has_value());
  EXPECT_GT(p.packets->data, 0u);
  EXPECT_EQ(p.packets->data, run->counts.data);
  ASSERT_EQ(p.chain.size(), chain.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    EXPECT_EQ(p.chain[i].kind, chain[i].kind) << i;
    EXPECT_EQ(p.chain[i].ps, chain[i].ps) << i;
  }
}

// Before 2.19 NCCL ends with an error where its variables leave no algorithm.
TEST(Predictor, TakesTheFasterOfRingAndTreeWhereNcclsTablesHaveNoEntry) {
  auto m = on("dgx-a100:4", {.nccl = {2, 18}, .env = {"NCCL_ALGO=CollnetChain"}});
  std::set<std::string> taken;
  for (const std::uint64_t size : {8ull, 1ull << 20, 1ull << 30}) {
    const Prediction best = all_reduce(*m, size);
    EXPECT_FALSE(best.nccl.has_value());
    EXPECT_EQ(best.time, std::min(all_reduce(*m, size, "ring").time, all_reduce(*m, size, "tree").time)) << size;
    taken.insert(best.algorithm);
  }
  EXPECT_EQ(taken, (std::set<std::string>{"ring", "tree"}));
}

/// Schedules that reach the floor exactly: the engine rounds up and the floor rounds down.
TEST(Predictor, NoTimeOfHostsOnOneSwitchIsBelowTheFloor) {
  const auto hosts = [](std::uint32_t n) {
    return "nodes: " + std::to_string(n) +
           "\nnode:\n  devices: [{name: gpu}, {name: nic}]\n"
           "  links: [{between: [gpu, nic], kind: pcie, rate: 64GB/s, latency: 200ns}]\n"
           "fabric: {kind: single-switch, link: {kind: infiniband, rate: 400Gb/s, latency: 500ns}}\n";
  };
  const std::string five_gpus =
      "node:\n  devices: [{name: gpu, count: 5}, {name: nvswitch}]\n"
      "  links: [{between: [\"gpu*\", nvswitch], kind: nvlink, rate: 100GB/s, latency: 500ns}]\n";
  for (const std::string& text : {hosts(4), hosts(5), hosts(10), five_gpus}) {
    const auto m = Predictor::make(spec::parse_cluster(text, "c.yaml").value(), {}).value();
    for (const collectives::Collective op : {collectives::Collective::kAllToAll, collectives::Collective::kGather,
                                             collectives::Collective::kScatter, collectives::Collective::kAllGather})
      for (std::uint64_t size = 8; size <= std::uint64_t{16} << 30; size = size == 8 ? 1000 : size * 2) {
        program::CollectiveCall call = call_over(op, Bytes{size}, m->ranks());
        if (op == collectives::Collective::kAllGather) call.algorithm = "direct";
        const Prediction p = m->time(call, {.relief = false}).value();
        EXPECT_EQ(p.warning, "") << collectives::name_of(op) << " of " << size << " over " << m->ranks();
        EXPECT_GE(p.time, p.floor.time) << collectives::name_of(op) << " of " << size << " over " << m->ranks();
      }
  }
}

}  // namespace
}  // namespace busbar::predict
