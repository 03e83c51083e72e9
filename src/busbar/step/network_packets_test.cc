#include "busbar/step/network_packets.h"

#include <gtest/gtest.h>

#include <csignal>
#include <map>

#include "busbar/base/stop_flag.h"
#include "busbar/predict/predictor.h"
#include "busbar/spec/cluster.h"

namespace busbar::step {
namespace {

/// A ring over the first GPU of each server, which `stride` servers lie between, as data-parallel groups are.
program::CollectiveCall strided_ring(std::uint32_t servers, std::uint32_t stride) {
  program::CollectiveCall call;
  call.op = collectives::Collective::kAllReduce;
  call.bytes = Bytes{64u << 20};
  call.algorithm = "ring";
  call.groups.outer = {{stride, 8, 0}};
  call.groups.inner = {{servers / stride, 8 * stride, 0}};
  return call;
}

std::unique_ptr<predict::Predictor> machine_of(const char* fabric, int nodes) {
  const std::string text = "{node: dgx-h100, nodes: " + std::to_string(nodes) + ", fabric: " + fabric + "}";
  return std::move(predict::Predictor::make(*spec::load_cluster(text), {})).value();
}

NetworkSample sample_of(predict::Predictor& machine, const program::CollectiveCall& call) {
  const auto prepared = machine.prepare(call);
  EXPECT_TRUE(prepared.ok()) << prepared.error().text();
  const program::CollectiveCall* const calls[] = {&*prepared};
  return network_sample(machine, calls).value().value();
}

TEST(NetworkSample, HoldsEveryConnectionOfItsLeaves) {
  const auto machine = machine_of("ndr-leaf-spine", 16);  // four servers on a leaf, four leaves
  const NetworkSample s = sample_of(*machine, strided_ring(16, 4));
  const topology::Topology& t = machine->cluster().topology;
  std::map<topology::BlockId, int> sent, received;
  for (const program::ListedFlow& f : s.flows.flows) {
    EXPECT_EQ(t.kind(f.from), topology::DeviceKind::kNic);
    ++sent[t.block_of(f.from)];
    ++received[t.block_of(f.to)];
  }
  EXPECT_EQ(s.crossing, s.flows.flows.size());  // a stride of a leaf
  EXPECT_EQ(s.leaves_of_machine, 4u);
  for (std::uint32_t server = 0; server < 4; ++server) {
    EXPECT_GT(sent[topology::BlockId{server}], 0);
    EXPECT_EQ(sent[topology::BlockId{server}], received[topology::BlockId{server}]);  // each forwards what it gets
  }
}

TEST(NetworkSample, WithoutConnectionsBetweenLeavesTakesNoTimeAndSlowsNothing) {
  const auto machine = machine_of("ndr-rail", 4);
  const NetworkSample s = sample_of(*machine, strided_ring(4, 1));
  EXPECT_GT(s.flows.flows.size(), 0u);
  EXPECT_EQ(s.crossing, 0u);
  const PacketSetup even{"nscc", "spray", {}}, hashed{"dcqcn", "ecmp", {}};
  const auto slowdowns = network_slowdowns(*machine, "", {{s}}, even, {{hashed}});
  ASSERT_TRUE(slowdowns.ok()) << slowdowns.error().text();
  EXPECT_EQ(slowdowns->front().front().mean, 1);
}

TEST(NetworkSlowdowns, StopWhereTheFlagOfTheMachineSaysSo) {
  const volatile std::sig_atomic_t stop = 1;
  const auto machine = machine_of("ndr-leaf-spine", 16);
  const NetworkSample s = sample_of(*machine, strided_ring(16, 4));
  predict::PredictPolicy policy;
  policy.stop = &stop;
  const auto stopped =
      predict::Predictor::make(*spec::load_cluster("{node: dgx-h100, nodes: 16, fabric: ndr-leaf-spine}"), {}, policy);
  const PacketSetup even{"nscc", "spray", {}};
  const auto out = network_slowdowns(**stopped, "", {{s}}, even, {{even}});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().message, interrupted().message);
}

// One of four leaves sends all its connections to one other leaf. Where the hash puts two of them on one cable, one
// takes twice as long at least; more queue pairs spread them.
TEST(NetworkSlowdowns, FewHashedConnectionsCollideAndQueuePairsSpreadThem) {
  const auto machine = machine_of("roce-400g-leaf-spine", 64);
  const NetworkSample s = sample_of(*machine, strided_ring(64, 16));
  ASSERT_GT(s.crossing, 16u);
  const PacketSetup even{"nscc", "spray", {}};
  const PacketSetup one{"dcqcn", "ecmp", {"packet=roce-tuned"}};
  const PacketSetup many{"dcqcn", "ecmp", {"packet=roce-tuned", "packet.queue_pairs=8"}};
  const auto out = network_slowdowns(*machine, "", {{s}}, even, {{one, many}});
  ASSERT_TRUE(out.ok()) << out.error().text();
  const PurposeSlowdown &few = (*out)[0][0], &spread = (*out)[1][0];
  EXPECT_GE(few.mean, 1.8);
  EXPECT_LT(spread.mean, few.mean);
  EXPECT_LE(few.least, few.mean);
  EXPECT_GE(few.most, few.mean);
}

}  // namespace
}  // namespace busbar::step
