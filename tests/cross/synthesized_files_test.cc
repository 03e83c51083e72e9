// Schedules made for one machine, written as MSCCL XML and read back: proved again, and timed message by message like
// the schedule itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "busbar/choice/synthesis.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/formats/msccl_xml.h"
#include "busbar/lowering/test_machines.h"

namespace busbar {
namespace {

constexpr std::uint32_t kPieces = 64;

/// For the first `most` candidates of `op`: reading back gives the same plan, proved, with the same time. Where nothing
/// that the search has found is faster, this is within `tolerance` of the engine's time for the schedule with the same
/// pieces. (Candidates found as if all links were equally fast may wait for slow links message by message.)
void expect_the_same_back(const topology::Topology& t, collectives::Collective op, double tolerance,
                          std::size_t most = 100) {
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  const routing::Placement placement(router, t.gpus());
  const program::ProtocolModel protocol;
  const auto engine = engine::make_flow_engine(router, placement, {protocol});
  program::CollectiveCall call =
      lowering::test_call(static_cast<std::uint32_t>(t.gpus().size()), "synthesized", 1 << 30, kPieces);
  call.op = op;
  const auto candidates = choice::synthesize(router, placement, call).value();
  ASSERT_FALSE(candidates.empty()) << collectives::name_of(op);
  const auto fluid_us = [&](const choice::Synthesized& s) {
    call.schedule = s.schedule;
    return engine->time_alone(engine->prepare(call).value()).in_us();
  };
  double least_us = std::numeric_limits<double>::infinity();
  for (const choice::Synthesized& s : candidates)
    if (!s.schedule->sends_nothing) least_us = std::min(least_us, fluid_us(s));
  for (std::size_t i = 0; i < std::min(most, candidates.size()); ++i) {
    const choice::Synthesized& s = candidates[i];
    if (s.schedule->sends_nothing) continue;  // no file states it
    const formats::MscclAlgorithm a = formats::msccl_of(*s.schedule).value();
    const formats::MscclAlgorithm b = formats::read_msccl_xml(formats::write_msccl_xml(a).value(), s.what).value();
    const Result<collectives::PlanProof> proof = collectives::prove(b.plan);
    EXPECT_TRUE(proof.ok()) << s.what << (proof.ok() ? "" : proof.error().text());
    const auto run = [&](const collectives::ExecutionPlan& p) {
      const program::MessageGraph g = program::messages_of(p, call.bytes, kPieces).value();
      return engine::run_messages(router, placement, protocol, program::Protocol::kSimple, g).value().end.since_start();
    };
    EXPECT_EQ(run(a.plan), run(b.plan)) << s.what;
    constexpr double kAsFast = 1.05;
    const double fluid = fluid_us(s);
    if (fluid > kAsFast * least_us) continue;
    // A scatter and an all-gather in one pipeline: docs/models/flow.md states the limit.
    const double within = s.what.starts_with("a scatter, then") ? 0.15 : tolerance;
    EXPECT_NEAR(run(b.plan).in_us() / fluid, 1, within) << collectives::name_of(op) << " " << s.what;
  }
}

constexpr collectives::Collective kAll[] = {
    collectives::Collective::kAllReduce, collectives::Collective::kAllGather, collectives::Collective::kReduceScatter,
    collectives::Collective::kBroadcast, collectives::Collective::kReduce,    collectives::Collective::kGather,
    collectives::Collective::kScatter,   collectives::Collective::kAllToAll};

TEST(SynthesizedFiles, OfTwoPairsAreTheSameReadBack) {
  for (const collectives::Collective op : kAll) expect_the_same_back(lowering::two_pairs(), op, 0.10);
}

TEST(SynthesizedFiles, OfASwitchWithADeadLinkAreTheSameReadBack) {
  topology::TopologyBuilder b = lowering::one_switch(4);
  b.degrade(static_cast<topology::LinkId>(2), 0.5);
  const topology::Topology t = std::move(b).seal();
  for (const collectives::Collective op : kAll) expect_the_same_back(t, op, 0.10);
}

TEST(SynthesizedFiles, OfTwoNodesAreTheSameReadBack) {
  const topology::Topology t = lowering::pods_of_eight(2).seal();
  for (const collectives::Collective op : {collectives::Collective::kAllGather, collectives::Collective::kGather})
    expect_the_same_back(t, op, 0.10, 3);
}

}  // namespace
}  // namespace busbar
