#include "busbar/engine/likeness.h"

#include <gtest/gtest.h>

#include "busbar/engine/engine.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::engine {
namespace {

/// Sixteen servers of one GPU below four leaves and two spines, and calls over some of them.
class Likeness : public ::testing::Test {
 protected:
  explicit Likeness(topology::RoutingPolicy policy = topology::RoutingPolicy::kSpray) : policy_(policy) {}
  void machine(topology::TopologyBuilder b) {
    likeness_.reset();
    topology_ = std::make_unique<topology::Topology>(std::move(b).seal());
    router_ = std::make_unique<routing::Router>(*topology_, policy_, 1);
    placement_ = std::make_unique<routing::Placement>(*router_, topology_->gpus());
    likeness_ = std::make_unique<CallLikeness>(*router_, *placement_);
  }
  static program::CollectiveCall on(std::vector<std::uint32_t> ranks, std::string algorithm = "ring") {
    program::CollectiveCall c = lowering::test_call(2, std::move(algorithm), 1 << 20);
    c.groups = {};
    c.groups.listed = ranks;
    c.groups.listed_groups = 1;
    return c;
  }
  bool alike(std::vector<std::uint32_t> a, std::vector<std::uint32_t> b) {
    return likeness_->alike(on(std::move(a)), on(std::move(b)));
  }
  topology::LinkId cable(const char* from, const char* to) const {
    for (const topology::LinkId l : topology_->out_links(*topology_->find(from)))
      if (topology_->to(l) == *topology_->find(to)) return l;
    return kNone<topology::LinkId>;
  }

  topology::RoutingPolicy policy_;
  std::unique_ptr<topology::Topology> topology_;
  std::unique_ptr<routing::Router> router_;
  std::unique_ptr<routing::Placement> placement_;
  std::unique_ptr<CallLikeness> likeness_;
};

TEST_F(Likeness, HoldsForServersThatStandAlikeBelowOtherLeaves) {
  machine(lowering::leaf_spine(4, 2));
  ASSERT_TRUE(alike({0, 1, 4}, {8, 9, 12}));
  EXPECT_EQ(likeness_->image(cable("node0.nic0", "leaf0")).link(), cable("node8.nic0", "leaf2"));
  EXPECT_EQ(likeness_->image(cable("leaf1", "spine1")).link(), cable("leaf3", "spine1"));
  EXPECT_EQ(likeness_->image(cable("spine0", "leaf0")).link(), cable("spine0", "leaf2"));
  EXPECT_EQ(likeness_->image(cable("node2.nic0", "leaf0")).link(),
            kNone<topology::LinkId>);  // of a server that takes no part
}

TEST_F(Likeness, AsksForTheSameLeavesRankByRank) {
  machine(lowering::leaf_spine(4, 2));
  EXPECT_FALSE(alike({0, 1, 4}, {8, 12, 13}));  // two and one
  EXPECT_FALSE(alike({0, 4}, {8, 9}));          // over spines, below a leaf
  EXPECT_FALSE(alike({0, 1}, {4, 5, 6}));
  EXPECT_TRUE(alike({0, 4}, {4, 0}));
}

TEST_F(Likeness, SeesOtherWork) {
  machine(lowering::leaf_spine(4, 2));
  program::CollectiveCall a = on({0, 1}), b = on({4, 5});
  b.bytes = Bytes{1 << 19};
  EXPECT_FALSE(likeness_->alike(a, b));
  EXPECT_FALSE(likeness_->alike(a, on({4, 5}, "tree")));
}

TEST_F(Likeness, AsksForTheSameNicsOfEveryChannel) {
  machine(lowering::leaf_spine(4, 2));
  const auto by_own_nics = [&](std::vector<std::uint32_t> ranks) {
    auto nics = std::make_shared<program::ChannelNics>();
    nics->channels = 1;
    nics->ranks = placement_->ranks();
    nics->out.assign(nics->ranks, kNone32);
    nics->in = nics->proxy = nics->out;
    for (const std::uint32_t r : ranks) {
      nics->out[r] = nics->in[r] = nics->ports.rows();
      nics->proxy[r] = r;
      nics->ports.values.push_back(index(placement_->nic(r, 0)));
      nics->ports.close_row();
    }
    return nics;
  };
  program::CollectiveCall a = on({0, 4}), b = on({4, 0});
  a.nics = by_own_nics({0, 4});
  b.nics = by_own_nics({4, 0});
  EXPECT_TRUE(likeness_->alike(a, b));
  b.nics = by_own_nics({4});  // the other rank takes the nearest, whatever that is
  EXPECT_FALSE(likeness_->alike(a, b));
  b.nics = nullptr;
  EXPECT_FALSE(likeness_->alike(a, b));
}

TEST_F(Likeness, EndsAtACableThatIsSlowerOrGone) {
  topology::TopologyBuilder slow = lowering::leaf_spine(4, 2);
  const auto find = [&](topology::TopologyBuilder& b, const char* from, const char* to) {
    for (std::uint32_t l = 0; l < b.peek().link_count(); ++l)
      if (b.peek().name(static_cast<topology::LinkId>(l)) == std::string(from) + "->" + to)
        return static_cast<topology::LinkId>(l);
    return kNone<topology::LinkId>;
  };
  slow.degrade(find(slow, "leaf2", "spine1"), 0.5);
  machine(std::move(slow));
  EXPECT_FALSE(alike({0, 4}, {8, 12}));
  EXPECT_TRUE(alike({0, 4}, {4, 0}));
  topology::TopologyBuilder gone = lowering::leaf_spine(4, 2);
  gone.fail(find(gone, "leaf2", "spine1"));
  machine(std::move(gone));
  EXPECT_FALSE(alike({0, 4}, {8, 12}));
  EXPECT_FALSE(alike({0, 4}, {4, 8}));
  EXPECT_TRUE(alike({0, 1}, {4, 5}));  // neither leaf has lost a cable
}

TEST_F(Likeness, SeesSwitchesOfAnotherClass) {
  machine(lowering::leaf_spine(4, 2, false, BytesPerSecond{10'000'000'000}));
  EXPECT_TRUE(alike({0, 4}, {4, 8}));
  EXPECT_FALSE(alike({0, 4}, {8, 12}));
  EXPECT_FALSE(alike({12, 8}, {4, 0}));
}

/// Cables between leaves are neither up nor down, so the pairing never sees their rates.
TEST_F(Likeness, RefusesFabricsWithCablesInsideATier) {
  topology::TopologyBuilder b = lowering::leaf_spine(4, 2);
  const auto leaf = [&](const char* name) { return *b.peek().find(name); };
  b.connect(leaf("leaf0"), leaf("leaf1"), topology::test_link(topology::LinkKind::kInfiniband, 100, Duration::us(1)));
  b.connect(leaf("leaf2"), leaf("leaf3"), topology::test_link(topology::LinkKind::kInfiniband, 10, Duration::us(1)));
  machine(std::move(b));
  EXPECT_FALSE(alike({0, 4}, {8, 12}));
}

TEST_F(Likeness, DoesNotTrustHashes) {
  policy_ = topology::RoutingPolicy::kStatic;
  machine(lowering::leaf_spine(4, 2));
  EXPECT_FALSE(alike({0, 4}, {8, 12}));
}

TEST_F(Likeness, SaysTheSameOfACallWithinOneThatWasAlike) {
  machine(lowering::leaf_spine(4, 2));
  ASSERT_TRUE(alike({0, 1, 4, 5}, {8, 9, 12, 13}));
  EXPECT_TRUE(alike({5, 0}, {13, 8}));
  EXPECT_EQ(likeness_->image(cable("leaf1", "spine1")).link(), cable("leaf3", "spine1"));
  EXPECT_TRUE(alike({0, 4}, {8, 13}));  // with other partners than before
  EXPECT_EQ(likeness_->image(cable("node4.nic0", "leaf1")).link(), cable("node13.nic0", "leaf3"));
  EXPECT_FALSE(alike({0, 4}, {8, 9}));
  EXPECT_TRUE(alike({0, 1}, {8, 9}));
  EXPECT_EQ(likeness_->image(cable("node4.nic0", "leaf1")).link(), kNone<topology::LinkId>)
      << "paired again after a failure";
}

TEST_F(Likeness, SavesNothingButTime) {
  machine(lowering::leaf_spine(4, 2));
  const std::vector<program::CollectiveCall> calls{on({0, 1, 4, 5}), on({8, 9, 12, 13}), on({2, 6}), on({10, 14}),
                                                   on({3, 7, 11})};
  const auto run = [&](const Shortcuts& shortcuts, bool flow) {
    EngineOptions o;
    o.shortcuts = shortcuts;
    const auto engine =
        flow ? make_flow_engine(*router_, *placement_, o) : make_analytic_engine(*router_, *placement_, o);
    std::vector<double> seen;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Result<program::CallId> id = engine->prepare(calls[i]);
      EXPECT_TRUE(id.ok());
      seen.push_back(static_cast<double>(engine->time_alone(*id).in_ps()));
      seen.push_back(index(engine->bound_by(*id).link));
      engine->start(*id, i, SimTime());
    }
    while (const auto done = engine->advance(SimTime::max()))
      seen.push_back(static_cast<double>(done->at.since_start().in_ps()));
    for (const double b : engine->link_bytes()) seen.push_back(b);
    return seen;
  };
  for (const bool flow : {false, true}) {
    const std::vector<double> folded = run({}, flow), whole = run(Shortcuts::none(), flow);
    ASSERT_EQ(folded.size(), whole.size());
    for (std::size_t i = 0; i < folded.size(); ++i)
      EXPECT_NEAR(folded[i], whole[i], 1e-6 * std::abs(whole[i]) + 1) << i;
  }
}

TEST_F(Likeness, KnowsCallsThatAnotherEngineLowered) {
  machine(lowering::leaf_spine(4, 2));
  EngineOptions o;
  o.known = std::make_shared<LoweredCalls>();
  const auto first = make_analytic_engine(*router_, *placement_, o);
  ASSERT_TRUE(first->prepare(on({0, 4})).ok());
  ASSERT_EQ(o.known->calls.size(), 1u);
  const auto second = make_flow_engine(*router_, *placement_, o);
  const Result<program::CallId> id = second->prepare(on({0, 4}));
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(o.known->calls.size(), 1u);
  EXPECT_EQ(second->lowered(*id), o.known->calls[0].get());
}

TEST_F(Likeness, KnowsCallsThatAnotherEngineMoved) {
  machine(lowering::leaf_spine(4, 2));
  EngineOptions o;
  o.known = std::make_shared<LoweredCalls>();
  const auto first = make_analytic_engine(*router_, *placement_, o);
  const program::CollectiveCall call = on({0, 1}), there = on({8, 9});
  ASSERT_TRUE(first->prepare(call).ok() && first->prepare(there).ok());
  ASSERT_EQ(o.known->images.size(), 1u);
  const auto alone = make_flow_engine(*router_, *placement_, o);
  ASSERT_TRUE(alone->prepare(there).ok()) << "the call it was moved from is not there";
  EXPECT_EQ(o.known->images.size(), 1u);
  const auto second = make_flow_engine(*router_, *placement_, o);
  ASSERT_TRUE(second->prepare(call).ok());
  const Result<program::CallId> id = second->prepare(there);
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(second->lowered(*id), o.known->images[0].call.get());
  EXPECT_EQ(second->time_alone(*id), first->time_alone(static_cast<program::CallId>(1)));
}

}  // namespace
}  // namespace busbar::engine
