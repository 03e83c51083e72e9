// Only room collectives uses the names of algorithms: each is registered a second time under another name, and every
// engine gives equal results for both.
#include "other_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "busbar/choice/fastest.h"
#include "busbar/collectives/algorithms.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/random_machine.h"
#include "busbar/packet/collective_flows.h"

namespace busbar {
namespace {

struct Machine {
  std::string name;
  topology::Topology topology;
  topology::RoutingPolicy policy = topology::RoutingPolicy::kSpray;
};

std::vector<Machine> machines() {
  std::vector<Machine> out;
  out.push_back({"four pods that reduce", lowering::pods_of_eight(4, true).seal()});
  out.push_back({"two pods", lowering::pods_of_eight(2).seal()});
  out.push_back({"one switch", lowering::one_switch(8).seal()});
  out.push_back(
      {"a leaf-spine fabric that reduces", lowering::leaf_spine(2, 2, true).seal(), topology::RoutingPolicy::kStatic});
  out.push_back({"two NICs", lowering::single_gpu_nodes(6, 2).seal()});
  for (unsigned seed = 0; seed < 12; ++seed) {
    RandomStream random(seed, "machines of other names");
    out.push_back({"random " + std::to_string(seed), lowering::random_machine(random)});
  }
  return out;
}

/// Costs of everything that depends on an algorithm, each with another value.
engine::EngineOptions costs() {
  engine::EngineOptions o;
  o.protocol.launch = Duration::us(6);
  o.protocol.chunk = Bytes{1 << 16};
  o.protocol.step_scale_up = Duration::us(3);
  o.protocol.step_server = Duration::us(4);
  o.protocol.step_network = Duration::us(20);
  o.protocol.step_switch = Duration::us(1);
  o.protocol.share_switch = 0.8;
  o.protocol.ll = {true, Duration::ns(200), Duration::ns(300), Duration::us(7), 0.4};
  o.protocol.ll128 = {true, Duration::ns(1400), Duration::ns(1500), Duration::us(10), 0.94};
  return o;
}

/// An engine's result for a call: the error; or time, bound, and the bytes on each link.
struct Said {
  ErrorCode refused{};
  Duration alone, end;
  topology::LinkId bound = kNone<topology::LinkId>;
  lowering::BoundKind kind{};
  std::vector<double> link_bytes;
  bool operator==(const Said&) const = default;
};

Said ask(std::unique_ptr<engine::Engine> engine, const program::CollectiveCall& call) {
  Said out;
  const Result<program::CallId> id = engine->prepare(call);
  if (!id.ok()) {
    out.refused = id.error().code;
    return out;
  }
  out.alone = engine->time_alone(*id);
  out.bound = engine->bound_by(*id).link;
  out.kind = engine->bound_by(*id).kind;
  engine->start(*id, 0, SimTime());
  engine->start(*id, 1, SimTime());  // at the same time as itself
  while (const auto done = engine->advance(SimTime::max())) out.end = done->at - SimTime();
  out.link_bytes = engine->link_bytes();
  return out;
}

bool same_flows(const program::FlowList& a, const program::FlowList& b) {
  const auto same = [](const program::ListedFlow& x, const program::ListedFlow& y) {
    return x.from == y.from && x.to == y.to && x.nic_from == y.nic_from && x.nic_to == y.nic_to && x.bytes == y.bytes &&
           x.start == y.start;
  };
  return std::equal(a.flows.begin(), a.flows.end(), b.flows.begin(), b.flows.end(), same) &&
         a.after.values == b.after.values;
}

/// Whether the engine can time the call on this machine.
bool expect_the_same(const Machine& m, const program::CollectiveCall& ours, const program::CollectiveCall& other) {
  const routing::Router router(m.topology, m.policy);
  const routing::Placement placement(router, m.topology.gpus());
  const auto what = m.name + ": " + ours.algorithm + " " + collectives::name_of(ours.op);
  EXPECT_EQ(ask(engine::make_analytic_engine(router, placement, costs()), ours),
            ask(engine::make_analytic_engine(router, placement, costs()), other))
      << what;
  EXPECT_EQ(ask(engine::make_flow_engine(router, placement, costs()), ours),
            ask(engine::make_flow_engine(router, placement, costs()), other))
      << what;
  program::FlowList a, b;
  const Status first = packet::add_collective_flows(ours, router, placement, costs().protocol, a);
  const Status second = packet::add_collective_flows(other, router, placement, costs().protocol, b);
  EXPECT_EQ(first.ok(), second.ok()) << what;
  EXPECT_TRUE(same_flows(a, b)) << what;
  const auto engine = engine::make_analytic_engine(router, placement, costs());
  const auto of_ours = choice::resolve_algorithm(*engine, placement, m.topology, ours);
  const auto of_other = choice::resolve_algorithm(*engine, placement, m.topology, other);
  EXPECT_EQ(of_ours.ok(), of_other.ok()) << what;
  if (of_ours.ok() && of_other.ok()) EXPECT_EQ(of_ours->protocol, of_other->protocol) << what;
  return of_ours.ok();
}

TEST(OtherNames, ChangeNothingInAnyEngine) {
  std::map<std::string_view, int> timed;
  for (const Machine& m : machines())
    for (const collectives::RegisteredAlgorithm& a : collectives::registered_algorithms())
      for (int op = 0; op <= static_cast<int>(collectives::Collective::kAllToAllV); ++op) {
        if (!(a.ops >> op & 1)) continue;
        program::CollectiveCall ours =
            lowering::test_call(static_cast<std::uint32_t>(m.topology.gpus().size()), std::string(a.name), 0);
        ours.op = static_cast<collectives::Collective>(op);
        if (ours.op == collectives::Collective::kAllToAllV) ours.pairs.hot = 1, ours.pairs.hot_chunks = 3;
        ours.chunks = 0;
        for (const std::uint64_t bytes : {64, 1 << 14, 1 << 22}) {
          ours.bytes = Bytes{bytes};
          program::CollectiveCall other = ours;
          other.algorithm = collectives::other_name(ours.algorithm);
          timed[a.name] += expect_the_same(m, ours, other);
          if (!a.traits.names_levels) continue;
          ours.algorithm = std::string(a.name) + "(ring,tree)";
          other.algorithm = collectives::other_name(std::string(a.name)) + "(ring,tree)";
          expect_the_same(m, ours, other);
          ours.algorithm = a.name;
        }
      }
  for (const collectives::RegisteredAlgorithm& a : collectives::registered_algorithms())
    EXPECT_GT(timed[a.name], 0) << a.name;
}

/// The guarantees of docs/tutorials/add-an-algorithm.md for an algorithm with one file and one entry in the registry.
TEST(ANewAlgorithm, UsesEveryNicOfTwoNodesAsRingDoes) {
  const topology::Topology topology = lowering::pods_of_eight(2).seal();
  const routing::Router router(topology, topology::RoutingPolicy::kSpray);
  const routing::Placement placement(router, topology.gpus());
  const auto engine = engine::make_analytic_engine(router, placement, {});
  const auto time = [&](const char* algorithm) {
    return engine->time_alone(engine->prepare(lowering::test_call(16, algorithm, 1 << 30, 0)).value()).in_us();
  };
  EXPECT_NEAR(time("bidirectional_ring"), time("ring"), 0.01 * time("ring"));
}

/// GPUs linked in a ring: one direction leaves half of the links idle.
TEST(ANewAlgorithm, IsTriedByFastest) {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < 8; ++g) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.links.push_back({g, (g + 1) % 8, topology::test_link(topology::LinkKind::kNvlink, 50, Duration::ns(500))});
  }
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const topology::Topology topology = std::move(b).seal();
  const routing::Router router(topology, topology::RoutingPolicy::kSpray);
  const routing::Placement placement(router, topology.gpus());
  const auto engine = engine::make_analytic_engine(router, placement, {});
  const auto best =
      choice::resolve_algorithm(*engine, placement, topology, lowering::test_call(8, "fastest", 1 << 30, 0));
  EXPECT_EQ(best.value().algorithm, "bidirectional_ring");
}

TEST(OtherNames, AnAlgorithmIsOfferedForTheRankCountsThatItTakes) {
  collectives::ScheduleSpec spec;
  spec.algorithm = "halves_of_powers";
  spec.op = collectives::Collective::kAllReduce;
  for (const std::uint32_t ranks : {1u, 2u, 6u, 8u, 12u}) {
    spec.ranks = ranks;
    const bool takes = ranks != 6 && ranks != 12;
    const std::vector<std::string> offered = collectives::algorithms_for(spec, false);
    EXPECT_EQ(std::count(offered.begin(), offered.end(), spec.algorithm), takes) << ranks;
    EXPECT_EQ(collectives::build_schedule(spec).ok(), takes) << ranks;
  }
  EXPECT_EQ(collectives::build_schedule(spec).error().text(),
            "halves_of_powers needs a power of two of ranks, here are 12");
}

}  // namespace
}  // namespace busbar
