#include "busbar/engine/flow/message_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/collectives/builders.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::engine {
namespace {

using ::testing::HasSubstr;
constexpr std::uint64_t kMs = 450'000'000;  // bytes that one_switch() moves in a millisecond

struct MessageMachine {
  topology::Topology topology;
  routing::Router router;
  routing::Placement placement;
  program::ProtocolModel protocol;
  explicit MessageMachine(const topology::TopologyBuilder& b)
      : topology(topology::TopologyBuilder(b).seal()),
        router(topology, topology::RoutingPolicy::kStatic),
        placement(router, topology.gpus()) {}
  MessageRun run(const program::MessageGraph& g) const {
    return run_messages(router, placement, protocol, program::Protocol::kSimple, g).value();
  }
};

struct GraphUnderTest : program::MessageGraph {
  explicit GraphUnderTest(std::uint32_t n) { ranks = n; }
  GraphUnderTest& add(program::MessageTask t, std::vector<program::TaskEdge> edges = {}) {
    tasks.push_back(t);
    for (const program::TaskEdge& e : edges) after.values.push_back(e);
    after.close_row();
    return *this;
  }
};
program::MessageTask message(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
  return {from, to, Bytes{bytes}};
}
program::MessageTask work(std::uint32_t rank, std::int64_t us, std::uint32_t unit = program::MessageTask::kNoUnit) {
  return {rank, rank, Bytes{0}, Duration::us(us), unit};
}
double done_us(const MessageRun& r, std::size_t task) { return r.tasks[task].done.since_start().in_us(); }

/// Two servers of two GPUs behind a CPU with memory of 15 GB/s, a NIC each. Memory of the GPUs: 18 GB/s.
topology::Topology hosts_with_memory() {
  topology::NodeTemplate node;
  for (const auto& [kind, name] : {std::pair(topology::DeviceKind::kGpu, "gpu0"),
                                   {topology::DeviceKind::kGpu, "gpu1"},
                                   {topology::DeviceKind::kNic, "nic0"},
                                   {topology::DeviceKind::kCpu, "cpu0"},
                                   {topology::DeviceKind::kNuma, "numa0"}})
    node.devices.push_back(topology::test_device(kind, name));
  for (std::uint32_t g = 0; g < 2; ++g) node.devices[g].device_class.memory_rate = BytesPerSecond{18'000'000'000};
  node.devices[4].device_class.transit_rate = BytesPerSecond{15'000'000'000};
  for (std::uint32_t d = 0; d < 3; ++d)
    node.links.push_back({d, 3, topology::test_link(topology::LinkKind::kPcie, 20, Duration::ns(300))});
  node.links.push_back({3, 4, topology::test_link(topology::LinkKind::kHost, 100, Duration::ns(100))});
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (int i = 0; i < 2; ++i)
    b.connect(b.device(b.add_block(t), 2), hub,
              topology::test_link(topology::LinkKind::kInfiniband, 19, Duration::us(2)));
  return std::move(b).seal();
}

TEST(MessageRun, TakesForAMessageWhatASendOfAScheduleTakes) {
  const topology::Topology t = hosts_with_memory();
  for (const topology::RoutingPolicy policy : {topology::RoutingPolicy::kStatic, topology::RoutingPolicy::kAdaptive})
    for (const bool peers : {true, false})
      for (const bool direct : {true, false})
        for (const std::size_t far : {1, 2}) {
          const routing::Router router(t, policy);
          const topology::DeviceId ends[] = {t.gpus()[0], t.gpus()[far]};
          const routing::Placement pair(router, ends);
          program::ProtocolModel protocol;
          protocol.step_server = protocol.step_network = Duration::us(3);
          protocol.peer_access = peers;
          protocol.gpudirect = direct;
          program::CollectiveCall call = lowering::test_call(2, "ring", 90'000'000, 1);
          call.op = collectives::Collective::kBroadcast;
          call.channels = 1;
          const double fluid_ps =
              lowering::closed_form_ps(lowering::Lowering(router, pair, protocol).lower(call).value());
          GraphUnderTest g(2);
          g.add(message(0, 1, 90'000'000));
          const MessageRun r = run_messages(router, pair, protocol, program::Protocol::kSimple, g).value();
          EXPECT_NEAR(static_cast<double>(r.end.since_start().in_ps()), fluid_ps, 2) << peers << direct << far;
          // GB/s: of the GPUs; or of the host's memory, which a copy through it writes and reads
          const double rate = (far == 1 ? peers : direct) ? 18 : 15.0 / 2;
          EXPECT_NEAR(r.tasks[0].sent.since_start().in_us(), 90'000 / rate, 1e-3) << peers << direct << far;
        }
}

TEST(MessageRun, WaitsForTheStartTheSendingOrTheArrival) {
  const MessageMachine m(lowering::one_switch(4));
  GraphUnderTest g(4);
  g.add(message(0, 1, kMs))
      .add(work(2, 1), {{0, program::TaskEvent::kStarted}})
      .add(work(2, 1), {{0, program::TaskEvent::kSent}})
      .add(work(2, 1), {{0, program::TaskEvent::kDone}});
  const MessageRun r = m.run(g);
  EXPECT_DOUBLE_EQ(done_us(r, 0), 1001);  // 1 us over two links
  EXPECT_DOUBLE_EQ(done_us(r, 1), 1);
  EXPECT_DOUBLE_EQ(done_us(r, 2), 1001);
  EXPECT_DOUBLE_EQ(done_us(r, 3), 1002);
  EXPECT_EQ(r.bytes, kMs);
  EXPECT_EQ(r.algorithm_floor, Duration::us(1000));
  EXPECT_EQ(r.bound.kind, lowering::BoundKind::kBandwidth);
  EXPECT_EQ(r.chain_work, Duration::us(1));
}

TEST(MessageRun, WorkOnOneUnitIsDoneInTurn) {
  const MessageMachine m(lowering::one_switch(2));
  GraphUnderTest g(2);
  g.add(work(0, 5, 0)).add(work(0, 5, 0)).add(work(0, 5, 1)).add(work(1, 5, 0)).add(work(0, 5));
  const MessageRun r = m.run(g);
  EXPECT_EQ(done_us(r, 0), 5);
  EXPECT_EQ(done_us(r, 1), 10);
  for (const std::size_t t : {2u, 3u, 4u}) EXPECT_EQ(done_us(r, t), 5) << t;
}

TEST(MessageRun, TasksThatWaitForEachOtherAreAnError) {
  const MessageMachine m(lowering::one_switch(2));
  GraphUnderTest g(2);
  g.add(work(0, 1), {{1}}).add(work(0, 1), {{0}}).add(work(1, 1));
  EXPECT_THAT(run_messages(m.router, m.placement, m.protocol, program::Protocol::kSimple, g).error().message,
              HasSubstr("2 of 3 messages and pieces of work wait for each other"));
}

TEST(MessageRun, StopsWhenItIsAskedTo) {
  const MessageMachine m(lowering::one_switch(2));
  GraphUnderTest messages(2), pieces(2);
  messages.add(message(0, 1, kMs));
  pieces.add(work(0, 1)).add(work(0, 1), {{0}});
  for (const program::MessageGraph& g : {messages, pieces}) {
    volatile std::sig_atomic_t stop = 0;
    const auto run = [&] {
      return run_messages(m.router, m.placement, m.protocol, program::Protocol::kSimple, g, {}, &stop);
    };
    EXPECT_TRUE(run().ok());
    stop = 1;
    ASSERT_FALSE(run().ok());
    EXPECT_EQ(run().error().message, interrupted().message);
  }
}

TEST(MessageRun, SwitchesThatReduceTakeHalfAWay) {
  MessageMachine m(lowering::pods_of_eight(1, true));
  GraphUnderTest g(2);
  g.add(message(0, program::MessageTask::kSwitch, kMs)).add(message(program::MessageTask::kSwitch, 1, kMs));
  const MessageRun r = m.run(g);
  EXPECT_DOUBLE_EQ(done_us(r, 0), 1000.5);
  EXPECT_DOUBLE_EQ(done_us(r, 1), 1000.5);
  const MessageMachine without(lowering::pods_of_eight(1));
  EXPECT_EQ(
      run_messages(without.router, without.placement, without.protocol, program::Protocol::kSimple, g).error().code,
      ErrorCode::kUnsupported);
}

TEST(MessageRun, NoMessageIsFasterThanAChannel) {
  MessageMachine m(lowering::one_switch(2));
  m.protocol.channel_rate = BytesPerSecond{45'000'000'000};
  EXPECT_DOUBLE_EQ(done_us(m.run(GraphUnderTest(2).add(message(0, 1, kMs))), 0), 10'001);
}

/// Time of a schedule of ours as messages, and that of the engine of closed forms.
void expect_as_lowered(const MessageMachine& m, const std::string& algorithm, collectives::Collective op,
                       std::uint64_t bytes, double tolerance_percent) {
  const std::uint32_t n = m.placement.ranks();
  EngineOptions options;
  options.protocol = m.protocol;
  const auto engine = make_flow_engine(m.router, m.placement, options);
  program::CollectiveCall call = lowering::test_call(n, algorithm, bytes);
  call.op = op;
  collectives::ScheduleSpec spec;
  spec.algorithm = algorithm;
  spec.op = op;
  spec.ranks = n;
  spec.ranks_per_group = std::min(n, 8u);
  const collectives::Schedule schedule = collectives::build_schedule(spec).value();
  call.schedule = std::make_shared<const collectives::Schedule>(schedule);
  const auto id = engine->prepare(call);
  ASSERT_TRUE(id.ok()) << id.error().text();
  const double lowered_us = (engine->time_alone(*id) - m.protocol.launch).in_us();
  const collectives::ExecutionPlan plan = collectives::plan_of(schedule, false).value();
  const MessageRun r = m.run(program::messages_of(plan, Bytes{bytes}, 1).value());
  EXPECT_NEAR(r.end.since_start().in_us(), lowered_us, lowered_us * tolerance_percent / 100)
      << algorithm << " " << collectives::name_of(op) << " of " << bytes;
  EXPECT_LE(r.algorithm_floor.in_us(), r.end.since_start().in_us());
}

TEST(MessageRun, TimesSchedulesOfOursAsTheEngineDoes) {
  MessageMachine one(lowering::one_switch(8));
  one.protocol.step_scale_up = Duration::ns(1700);
  for (const std::uint64_t bytes : {8ul << 10, 64ul << 20, 1ul << 30}) {
    expect_as_lowered(one, "ring", collectives::Collective::kAllReduce, bytes, 0.01);
    expect_as_lowered(one, "ring", collectives::Collective::kAllGather, bytes, 0.01);
    expect_as_lowered(one, "halving_doubling", collectives::Collective::kAllReduce, bytes, 0.01);
    expect_as_lowered(one, "direct", collectives::Collective::kAllToAll, bytes, 0.01);
    expect_as_lowered(one, "pairwise", collectives::Collective::kAllToAll, bytes, 0.01);
  }
  MessageMachine pods(lowering::pods_of_eight(2));
  pods.protocol.step_network = Duration::us(9);
  for (const std::uint64_t bytes : {8ul << 10, 64ul << 20, 1ul << 30})
    expect_as_lowered(pods, "ring", collectives::Collective::kAllReduce, bytes, 0.01);
}

// Three ranks in a row: with one loop the second hop waits for all bytes, with many for a part.
TEST(MessageRun, LoopsFollowEachOtherThroughThePlan) {
  const MessageMachine m(lowering::one_switch(3));
  const collectives::ExecutionPlan plan =
      collectives::plan_of(collectives::build_ring(collectives::Collective::kBroadcast, 3).value(), false).value();
  const auto ms = [&](std::uint32_t loops) {
    const MessageRun r = m.run(program::messages_of(plan, Bytes{100 * kMs}, loops).value());
    EXPECT_EQ(r.bytes, 2 * 100 * kMs);
    return r.end.since_start().in_us() / 1000;
  };
  EXPECT_NEAR(ms(1), 200, 0.01);
  EXPECT_NEAR(ms(4), 125, 0.01);
  EXPECT_NEAR(ms(100), 101, 0.01);
}

// Ring all-reduce over three ranks in four parts. Step by step the second part is sent while the first is on its way;
// thread by thread it waits until the first is through all four rounds. Either way a link carries 4/3 of the buffer.
TEST(MessageRun, PartsFollowEachOtherByStepsOrByThreads) {
  MessageMachine m(lowering::one_switch(3));
  m.protocol.step_scale_up = Duration::us(10'000);
  const collectives::ExecutionPlan plan =
      collectives::plan_of(collectives::build_ring(collectives::Collective::kAllReduce, 3).value(), false).value();
  const auto ms = [&](program::LoopOrder order) {
    return m.run(program::messages_of(plan, Bytes{3 * kMs}, 4, order).value()).end.since_start().in_us() / 1000;
  };
  EXPECT_NEAR(ms(program::LoopOrder::kThreadByThread), 4 * 4 * 0.25 + 4 * 4 * 10 - 3 * 10, 0.1);
  EXPECT_NEAR(ms(program::LoopOrder::kStepByStep), 4 * (0.25 + 10) + 3 * 0.25, 0.1);
}

}  // namespace
}  // namespace busbar::engine
