// What a library chose as the NIC of a channel is what carries the channel's bytes, in every engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "busbar/choice/nccl_schedules.h"
#include "busbar/collectives/edges.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/lowering/lowering.h"
#include "busbar/nccl/test_nodes.h"
#include "busbar/packet/collective_flows.h"

namespace busbar::predict {
namespace {

/// Bytes that each NIC sends to and takes from the fabric.
struct NicLoads {
  std::map<std::string, double> out, in;
};

struct ChannelMachine {
  explicit ChannelMachine(topology::Topology t, const nccl::NcclSettings& settings = {})
      : topology(std::move(t)),
        router(topology, topology::RoutingPolicy::kSpray),
        placement(router, topology.gpus()),
        schedules(nccl::build_nccl_comm(topology, topology.gpus(), settings).value()) {}

  program::CollectiveCall call(const char* algorithm, std::uint64_t bytes = 64 << 20) {
    program::CollectiveCall c;
    c.op = collectives::Collective::kAllReduce;
    c.bytes = Bytes{bytes};
    c.groups = collectives::one_group(placement.ranks());
    c.algorithm = algorithm;
    return schedules.over_channels(c).value();
  }
  std::uint32_t block_of(std::uint32_t rank) const { return index(topology.block_of(placement.gpu(rank))); }

  /// By the definition of ChannelNics.
  NicLoads chosen(const program::CollectiveCall& c) const {
    NicLoads out;
    const collectives::Schedule& s = *c.schedule;
    const double chunk = static_cast<double>(count(c.bytes)) / s.chunks_per_buffer();
    const auto add = [&](std::uint32_t row, double bytes, std::map<std::string, double>& to) {
      for (const std::uint32_t d : c.nics->ports.row(row))
        to[topology.name(static_cast<topology::DeviceId>(d))] +=
            bytes / static_cast<double>(c.nics->ports.row(row).size());
    };
    for (const collectives::Phase& phase : s.phases)
      collectives::for_each_edge(s, phase, 0, [&](std::uint32_t from, std::uint32_t to, auto chunks) {
        if (block_of(from) == block_of(to)) return;
        add(c.nics->out[c.nics->at(phase.channel, from)], static_cast<double>(chunks) * chunk, out.out);
        add(c.nics->in[c.nics->at(phase.channel, to)], static_cast<double>(chunks) * chunk, out.in);
      });
    return out;
  }
  void add_link(topology::LinkId l, double bytes, NicLoads& out) const {
    if (!topology::is_fabric(topology.link_class(l).kind)) return;
    const topology::DeviceId from = topology.from(l), to = topology.to(l);
    if (topology.kind(from) == topology::DeviceKind::kNic) out.out[topology.name(from)] += bytes;
    if (topology.kind(to) == topology::DeviceKind::kNic) out.in[topology.name(to)] += bytes;
  }
  NicLoads of_fluids(engine::Engine& engine, const program::CollectiveCall& c) const {
    NicLoads out;
    const lowering::LoweredCall* lowered = engine.lowered(engine.prepare(c).value());
    for (const lowering::Stage& stage : lowered->stages)
      for (const lowering::Fluid& f : stage.fluids)
        for (std::uint32_t i = f.begin; i < f.end; ++i)
          if (stage.on[i].is_link()) add_link(stage.on[i].link(), stage.weight[i] * f.bytes, out);
    return out;
  }
  NicLoads of_packets(const program::CollectiveCall& c) const {
    NicLoads out;
    program::FlowList list;
    EXPECT_TRUE(packet::add_collective_flows(c, router, placement, {}, list).ok());
    for (const program::ListedFlow& f : list.flows) {
      if (topology.block_of(f.from) == topology.block_of(f.to)) continue;
      out.out[topology.name(f.nic_from)] += static_cast<double>(count(f.bytes));
      out.in[topology.name(f.nic_to)] += static_cast<double>(count(f.bytes));
    }
    return out;
  }

  topology::Topology topology;
  routing::Router router;
  routing::Placement placement;
  choice::NcclSchedules schedules;
};

void expect_same(const std::map<std::string, double>& want, const std::map<std::string, double>& got) {
  ASSERT_EQ(want.size(), got.size());
  for (const auto& [nic, bytes] : want) {
    ASSERT_TRUE(got.contains(nic)) << nic;
    EXPECT_NEAR(got.at(nic) / bytes, 1, 1e-5) << nic;
  }
}
void expect_same(const NicLoads& want, const NicLoads& got) {
  expect_same(want.out, got.out);
  expect_same(want.in, got.in);
}

/// Nodes whose channels use other NICs than the nearest of each GPU.
std::map<std::string, std::pair<nccl::TestNode, nccl::NcclSettings>> machines() {
  std::map<std::string, std::pair<nccl::TestNode, nccl::NcclSettings>> out;
  out["rails"];
  out["8 GPUs, 4 NICs"].first.gpus_per_switch = 2;
  out["two NICs per switch"].first.nics_per_switch = 2;
  out["two of each per switch"].first.gpus_per_switch = out["two of each per switch"].first.nics_per_switch = 2;
  out["cards of two ports"].first.nics_per_switch = out["cards of two ports"].first.ports_per_card = 2;
  out["no NVLink"].first.nvlinks = 0;
  for (const int cross : {0, 1, 2}) {
    auto& [node, settings] = out["NCCL_CROSS_NIC=" + std::to_string(cross)];
    node.gpus_per_switch = 2;
    settings.cross_nic = cross;
  }
  return out;
}

TEST(ChannelNics, CarryTheTrafficOfTheirChannelsInEveryEngine) {
  std::uint32_t others = 0;  // channels by other NICs than the nearest
  for (const auto& [what, how] : machines())
    for (const char* algorithm : {"ring", "tree"}) {
      SCOPED_TRACE(what + ", " + algorithm);
      ChannelMachine m(nccl::nccl_machine(how.first, 3), how.second);
      const program::CollectiveCall call = m.call(algorithm);
      ASSERT_NE(call.nics, nullptr);
      const NicLoads want = m.chosen(call);
      expect_same(want, m.of_fluids(*engine::make_analytic_engine(m.router, m.placement, {}), call));
      expect_same(want, m.of_fluids(*engine::make_flow_engine(m.router, m.placement, {}), call));
      expect_same(want, m.of_packets(call));
      program::CollectiveCall near = call;
      near.nics = nullptr;
      const NicLoads nearest = m.of_packets(near);
      others += nearest.out != m.of_packets(call).out;
    }
  EXPECT_GT(others, 4u);
}

TEST(ChannelNics, CarryTheMessagesOfAScheduleTakenApart) {
  for (const auto& [what, how] : machines()) {
    SCOPED_TRACE(what);
    ChannelMachine m(nccl::nccl_machine(how.first, 2), how.second);
    const program::CollectiveCall call = m.call("ring", 256 << 20);
    program::MessageGraph graph =
        program::messages_of(collectives::plan_of(*call.schedule, false).value(), call.bytes, 1).value();
    graph.nics = call.nics;
    const Result<engine::MessageRun> messages =
        engine::run_messages(m.router, m.placement, {}, program::Protocol::kSimple, graph);
    ASSERT_TRUE(messages.ok());
    const auto flow = engine::make_flow_engine(m.router, m.placement, {});
    const Duration fluids = flow->time_alone(flow->prepare(call).value());
    EXPECT_NEAR(fluids.in_us() / messages->end.since_start().in_us(), 1, 0.03);
  }
}

}  // namespace
}  // namespace busbar::predict
