// Our schedules, written in the format of another program, read back and timed: the time is the same as before.
#include <gtest/gtest.h>

#include "busbar/collectives/builders.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/formats/goal.h"
#include "busbar/formats/msccl_xml.h"
#include "busbar/lowering/test_machines.h"

namespace busbar {
namespace {

class MessageFiles : public ::testing::Test {
 protected:
  Duration time(const program::MessageGraph& g) const {
    return engine::run_messages(router_, placement_, protocol_, program::Protocol::kSimple, g)
        .value()
        .end.since_start();
  }
  static collectives::Schedule schedule(const std::string& algorithm) {
    collectives::ScheduleSpec spec;
    spec.algorithm = algorithm;
    spec.op = collectives::Collective::kAllReduce;
    spec.ranks = 16;
    spec.ranks_per_group = 8;
    return collectives::build_schedule(spec).value();
  }
  static const std::vector<std::string>& algorithms() {
    static const std::vector<std::string> names{"ring", "tree", "halving_doubling", "direct", "hierarchical"};
    return names;
  }
  topology::Topology topology_ = lowering::pods_of_eight(2).seal();
  routing::Router router_{topology_, topology::RoutingPolicy::kStatic};
  routing::Placement placement_{router_, topology_.gpus()};
  program::ProtocolModel protocol_{};
};

TEST_F(MessageFiles, GoalTakesTheSameTime) {
  for (const std::string& algorithm : algorithms()) {
    const program::MessageGraph g =
        program::messages_of(collectives::plan_of(schedule(algorithm), false).value(), Bytes{64 << 20}, 2).value();
    const std::string text = formats::write_goal(g).value();
    formats::LineSource lines = formats::LineSource::of_text(text, algorithm);
    EXPECT_EQ(time(formats::messages_of(formats::read_goal(lines).value()).value()), time(g)) << algorithm;
  }
}

TEST_F(MessageFiles, MscclTakesTheSameTime) {
  for (const std::string& algorithm : algorithms()) {
    const formats::MscclAlgorithm a = formats::msccl_of(schedule(algorithm)).value();
    const formats::MscclAlgorithm b = formats::read_msccl_xml(formats::write_msccl_xml(a).value(), algorithm).value();
    const auto run = [&](const collectives::ExecutionPlan& p) {
      return time(program::messages_of(p, Bytes{64 << 20}, 2).value());
    };
    EXPECT_EQ(run(a.plan), run(b.plan)) << algorithm;
  }
}

}  // namespace
}  // namespace busbar
