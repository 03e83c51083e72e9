// One rule of dependence: the same schedule takes about as long as fluids, message by message, as a list of flows, and
// as packets.
#include <gtest/gtest.h>

#include <string>

#include "busbar/collectives/builders.h"
#include "busbar/engine/flow/flow_list_run.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/lowering/test_network.h"
#include "busbar/packet/collective_flows.h"

namespace busbar::packet {
namespace {

class Ways {
 public:
  Ways(const lowering::TestNetwork& machine, program::CollectiveCall call, collectives::Schedule schedule)
      : m_(machine), call_(std::move(call)) {
    call_.channels = schedule.channels;
    call_.schedule = std::make_shared<const collectives::Schedule>(std::move(schedule));
  }
  double fluids_us() const {
    const auto engine = engine::make_flow_engine(m_.router, m_.placement, {});
    return engine->time_alone(engine->prepare(call_).value()).in_us();
  }
  double messages_us() const {
    const collectives::ExecutionPlan plan = collectives::plan_of(*call_.schedule, false).value();
    const program::MessageGraph graph =
        program::messages_of(plan, call_.bytes, call_.chunks, program::LoopOrder::kStepByStep).value();
    return engine::run_messages(m_.router, m_.placement, {}, program::Protocol::kSimple, graph)
        ->end.since_start()
        .in_us();
  }
  double flows_us() const { return engine::run_flow_list(m_.router, list()).value().end.since_start().in_us(); }
  double packets_us() const {
    const PacketOptions options{PacketTransport::kRoce, PacketBalance::kSpray, 1};
    return run_packet_jobs({&call_, 1}, m_.router, m_.placement, {}, options).value().ends[0].in_us();
  }

 private:
  program::FlowList list() const {
    program::FlowList out;
    EXPECT_TRUE(add_collective_flows(call_, m_.router, m_.placement, {}, out).ok());
    return out;
  }
  const lowering::TestNetwork& m_;
  program::CollectiveCall call_;
};

template <typename F>
void for_every_call(const lowering::TestNetwork& m, F f) {
  for (int o = 0; o < static_cast<int>(collectives::Collective::kAllToAllV); ++o)
    for (const std::string& algorithm : collectives::algorithm_names()) {
      program::CollectiveCall call;
      call.op = static_cast<collectives::Collective>(o);
      call.algorithm = algorithm;
      call.groups = collectives::one_group(m.gpus());
      call.chunks = 1;
      const std::uint32_t domain = lowering::ranks_per_domain(call, m.topology, m.placement);
      auto schedule = lowering::build_for_call(call, m.topology, m.placement, domain, 1);
      if (!schedule.ok() || schedule->reducers > 0) continue;
      f(call, *schedule);
    }
}

double percent(double us, double of_us) { return 100 * (us / of_us - 1); }

// docs/models/packet.md: lists of flows are the messages of a schedule.
TEST(WaysOfTiming, AListOfFlowsTakesAsLongAsTheMessagesOfEveryAlgorithm) {
  for (const std::uint32_t nodes : {1u, 2u, 3u}) {
    const lowering::TestNetwork m(lowering::pods_of_eight(nodes).seal());
    for_every_call(m, [&](program::CollectiveCall call, const collectives::Schedule& schedule) {
      // In lists pieces of rings meet where messages follow each other; a hierarchy waits for phases, as its fluids do;
      // messages of halving and doubling are cut where buffers are.
      const bool steps = call.algorithm != "ring" && call.algorithm != "halving_doubling";
      const double most = call.algorithm == "torus" ? 25 : call.algorithm == "hierarchical" ? 8 : steps ? 0.01 : 5;
      for (const std::uint64_t bytes : {64ul << 10, 1ul << 20, 64ul << 20}) {
        call.bytes = Bytes{bytes};
        const Ways ways(m, call, schedule);
        EXPECT_NEAR(percent(ways.flows_us(), ways.messages_us()), 0, most)
            << nodes << " nodes, " << collectives::name_of(call.op) << " " << call.algorithm << ", " << bytes
            << " bytes";
      }
    });
  }
}

// docs/models/flow.md, "Stepwise phases".
TEST(WaysOfTiming, BruckTakesAsLongAsFluidsAsAListAndAsMessages) {
  for (const std::uint32_t nodes : {1u, 2u, 3u}) {
    const lowering::TestNetwork m(lowering::pods_of_eight(nodes).seal());
    for_every_call(m, [&](program::CollectiveCall call, const collectives::Schedule& schedule) {
      if (call.algorithm != "bruck") return;
      for (const std::uint64_t bytes : {64ul << 10, 64ul << 20}) {
        call.bytes = Bytes{bytes};
        const Ways ways(m, call, schedule);
        const double us = ways.fluids_us();
        EXPECT_NEAR(percent(ways.flows_us(), us), 0, 0.01) << nodes << " nodes, " << bytes << " bytes";
        EXPECT_NEAR(percent(ways.messages_us(), us), 0, 0.01) << nodes << " nodes, " << bytes << " bytes";
      }
    });
  }
}

// Packets bring headers of 1.6 % and one packet per hop. In one server no two rounds meet on a link.
TEST(WaysOfTiming, PacketsOfAServerTakeAsLongAsMessagesAndTheirHeaders) {
  const lowering::TestNetwork m(lowering::pods_of_eight(1).seal());
  for_every_call(m, [&](program::CollectiveCall call, const collectives::Schedule& schedule) {
    if (call.algorithm == "torus") return;
    for (const std::uint64_t bytes : {64ul << 10, 4ul << 20}) {
      call.bytes = Bytes{bytes};
      const Ways ways(m, call, schedule);
      const double more = percent(ways.packets_us(), ways.messages_us());
      EXPECT_GE(more, 0) << collectives::name_of(call.op) << " " << call.algorithm << ", " << bytes << " bytes";
      EXPECT_LE(more, 2.5) << collectives::name_of(call.op) << " " << call.algorithm << ", " << bytes << " bytes";
    }
  });
}

}  // namespace
}  // namespace busbar::packet
