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
  Duration time(const MessageGraph& g) const {
    return run_messages(router_, placement_, protocol_, Protocol::kSimple, g).value().end.since_start();
  }
  static Schedule schedule(const std::string& algorithm) {
    ScheduleSpec spec;
    spec.algorithm = algorithm;
    spec.op = Collective::kAllReduce;
    spec.ranks = 16;
    spec.ranks_per_group = 8;
    return build_schedule(spec).value();
  }
  static const std::vector<std::string>& algorithms() {
    static const std::vector<std::string> names{"ring", "tree", "halving_doubling", "direct", "hierarchical"};
    return names;
  }
  Topology topology_ = pods_of_eight(2).seal();
  Router router_{topology_, RoutingPolicy::kStatic};
  Placement placement_{router_, topology_.gpus()};
  ProtocolModel protocol_{};
};

TEST_F(MessageFiles, GoalTakesTheSameTime) {
  for (const std::string& algorithm : algorithms()) {
    const MessageGraph g = messages_of(plan_of(schedule(algorithm), false).value(), Bytes{64 << 20}, 2).value();
    const std::string text = write_goal(g).value();
    LineSource lines = LineSource::of_text(text, algorithm);
    EXPECT_EQ(time(messages_of(read_goal(lines).value()).value()), time(g)) << algorithm;
  }
}

TEST_F(MessageFiles, MscclTakesTheSameTime) {
  for (const std::string& algorithm : algorithms()) {
    const MscclAlgorithm a = msccl_of(schedule(algorithm)).value();
    const MscclAlgorithm b = read_msccl_xml(write_msccl_xml(a).value(), algorithm).value();
    const auto run = [&](const ExecutionPlan& p) { return time(messages_of(p, Bytes{64 << 20}, 2).value()); };
    EXPECT_EQ(run(a.plan), run(b.plan)) << algorithm;
  }
}

}  // namespace
}  // namespace busbar
