#include "busbar/collectives/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/sends.h"
#include "busbar/collectives/verify.h"

namespace busbar::collectives {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(GroupFamily, CountsInMixedRadixFirstAxisFastest) {
  GroupFamily f;  // 2 x 3 groups of 2 x 4 members
  f.base = 100;
  f.outer = {{.extent = 2, .actor_stride = 8, .chunk_stride = 5}, {.extent = 3, .actor_stride = 16, .chunk_stride = 7}};
  f.inner = {{.extent = 2, .actor_stride = 4}, {.extent = 4, .actor_stride = 1}};
  EXPECT_EQ(f.groups(), 6u);
  EXPECT_EQ(f.size(), 8u);
  EXPECT_EQ(f.actor(0, 0), 100u);
  EXPECT_EQ(f.actor(5, 7), 100u + 8 + 2 * 16 + 4 + 3);
  EXPECT_EQ(f.actor(2, 3), 100u + 16 + 4 + 1);
  EXPECT_EQ(f.chunk_offset(5), 5u + 2 * 7);
}

TEST(GroupFamily, ListsIrregularGroups) {
  GroupFamily f;
  f.listed = {4, 1, 7, 0, 9, 2};
  f.listed_groups = 2;
  EXPECT_EQ(f.groups(), 2u);
  EXPECT_EQ(f.size(), 3u);
  EXPECT_EQ(f.actor(1, 2), 2u);
  EXPECT_EQ(f.chunk_offset(1), 0u);
}

TEST(GroupFamily, OfNothingIsOneGroupOfOne) {
  const GroupFamily f;
  EXPECT_EQ(f.groups(), 1u);
  EXPECT_EQ(f.size(), 1u);
  EXPECT_EQ(f.actor(0, 0), 0u);
  EXPECT_EQ(one_group(5).size(), 5u);
  EXPECT_EQ(one_group(5).actor(0, 4), 4u);
}

TEST(Schedule, OfAHundredThousandRanksHoldsAFewNumbers) {
  const Schedule s = build_hierarchical(Collective::kAllReduce, 12'500, 8).value();
  EXPECT_EQ(s.families.size(), 2u);
  EXPECT_EQ(s.phases.size(), 4u);
  for (const GroupFamily& f : s.families) EXPECT_LE(f.outer.size() + f.inner.size() + f.order.size(), 2u);
}

TEST(Schedule, OfALargeAllToAllNamesNoPair) {
  ScheduleSpec spec;
  spec.algorithm = "direct";
  spec.op = Collective::kAllToAll;
  spec.ranks = 65'536;
  const Schedule s = build_schedule(spec).value();
  ASSERT_EQ(s.phases.size(), 1u);
  EXPECT_EQ(coupling_of(s.phases[0].pattern), Coupling::kFree);
  EXPECT_EQ(chunks_per_pair(s, s.phases[0]), 1u);
  EXPECT_EQ(s.chunks_per_buffer(), 65'536u);
  spec.ranks = 65'537;
  EXPECT_THAT(build_schedule(spec).error().message, HasSubstr("at most 65536"));
}

TEST(Schedule, CouplesConnectionsThatWaitForEachOther) {
  using enum Pattern;
  for (const Pattern p :
       {kRingReduceScatter, kChainReduce, kTreeBroadcast, kHalvingReduceScatter, kBruckAllToAll, kHubReduce})
    EXPECT_EQ(coupling_of(p), Coupling::kChain) << name_of(p);
  for (const Pattern p : {kPairwiseAllToAll, kDirectReduceScatter, kDirectAllToAll, kDirectGather, kDirectScatter})
    EXPECT_EQ(coupling_of(p), Coupling::kFree) << name_of(p);
}

TEST(CollectiveNames, IncludeOursAndNcclTests) {
  for (int o = 0; o <= static_cast<int>(Collective::kSendRecv); ++o) {
    const auto op = static_cast<Collective>(o);
    EXPECT_EQ(parse_collective(name_of(op)).value(), op);
    EXPECT_EQ(parse_collective(std::string(name_of(op)) + "_perf").value(), op);
  }
  EXPECT_EQ(parse_collective("alltoall").value(), Collective::kAllToAll);
  EXPECT_EQ(parse_collective("alltoall_perf").value(), Collective::kAllToAll);
  EXPECT_EQ(parse_collective("sendrecv").value(), Collective::kSendRecv);
  EXPECT_EQ(parse_collective("AllReduce").value(), Collective::kAllReduce);
  EXPECT_EQ(parse_collective("reduce-scatter").value(), Collective::kReduceScatter);
}

TEST(CollectiveNames, SuggestTheNearest) {
  const auto message = [](std::string_view name) { return parse_collective(name).error().message; };
  EXPECT_EQ(message("all_reduse"), "there is no collective 'all_reduse'; did you mean 'all_reduce'?");
  EXPECT_THAT(message("brodcast"), HasSubstr("'broadcast'"));
  EXPECT_THAT(message("sendrcv"), HasSubstr("'send_recv'"));
  EXPECT_FALSE(parse_collective("").ok());
  EXPECT_LT(message(std::string(100'000, 'x')).size(), 250u);
  EXPECT_THAT(message("\x1b[2J\xff"), HasSubstr("no collective '?[2j?'; there are all_reduce, all_gather, "));
}

TEST(Registry, RefusesWithReasonAndRemedy) {
  const auto refuse = [](std::string_view name, Collective op, std::uint32_t ranks, std::uint32_t per_group,
                         std::uint32_t root = 0) { return build_schedule(name, op, ranks, per_group, root).error(); };
  const Error tree = refuse("tree", Collective::kAllGather, 8, 8);
  EXPECT_EQ(tree.code, ErrorCode::kUnsupported);
  EXPECT_THAT(tree.message, StartsWith("algorithm tree has no schedule for all_gather; legal: ring, "));
  EXPECT_THAT(refuse("hierarchical", Collective::kAllReduce, 12, 8).message,
              HasSubstr("12 ranks do not divide into groups of 8"));
  EXPECT_THAT(refuse("hierarchical", Collective::kAllReduce, 12, 0).message, HasSubstr("groups of 0"));
  for (const std::string& name : algorithm_names()) {
    const bool built = build_schedule(name, Collective::kAllGather, 8, 8, 0).ok();
    EXPECT_EQ(tree.message.find(" " + name) != std::string::npos, built || name == "tree") << name;
  }
  EXPECT_THAT(refuse("direct", Collective::kSendRecv, 3, 1, 1).message, HasSubstr("no root"));
  EXPECT_THAT(refuse("rong", Collective::kAllReduce, 8, 8).message,
              HasSubstr("algorithm 'rong' has no schedule for all_reduce; legal: ring, "));
  EXPECT_EQ(refuse("ring", Collective::kBroadcast, 8, 8, 8).code, ErrorCode::kInvalid);
  EXPECT_THAT(refuse("ring", Collective::kBroadcast, 8, 8, 8).message, HasSubstr("root 8 is not one of the ranks 0"));
  EXPECT_THAT(refuse("ring", Collective::kAllReduce, 0, 8).message, HasSubstr("at least one rank"));
  EXPECT_THAT(refuse("ring", Collective::kAllReduce, 1u << 31, 8).message, HasSubstr("too many"));
  EXPECT_THAT(build_hierarchical(Collective::kAllReduce, 1u << 31, 1u << 31).error().message, HasSubstr("too many"));
}

TEST(Registry, OffersEveryAlgorithmThatASpecAllows) {
  for (int o = 0; o <= static_cast<int>(Collective::kAllToAllV); ++o)
    for (const std::uint32_t ranks : {1u, 2u, 8u, 12u})
      for (const std::uint32_t per_group : {0u, 1u, 2u, 4u, 8u})
        for (const bool in_network : {false, true}) {
          ScheduleSpec spec;
          spec.op = static_cast<Collective>(o);
          spec.ranks = ranks;
          spec.ranks_per_group = per_group;
          for (const std::string& name : algorithms_for(spec, in_network)) {
            spec.algorithm = name;
            const auto s = build_schedule(spec);
            ASSERT_TRUE(s.ok()) << s.error().text();
            EXPECT_EQ(s->algorithm, name);
            EXPECT_EQ(s->traits, traits_of(name));
          }
        }
}

TEST(Registry, OffersOnlyAlgorithmsThatFitTheMachine) {
  ScheduleSpec spec;
  spec.ranks = 64;
  spec.ranks_per_group = 8;
  const auto offered = [&](const std::string& name, bool in_network) {
    const auto names = algorithms_for(spec, in_network);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : algorithm_names()) {
    const bool built = build_schedule(name, spec.op, 64, 8, 0).ok();
    const AlgorithmTraits t = traits_of(name);
    spec.dimensions = {};
    spec.ranks_per_group = 8;
    EXPECT_EQ(offered(name, true), built && !t.takes_dimensions) << name;
    EXPECT_EQ(offered(name, false), built && !t.takes_dimensions && !t.reduces_in_network) << name;
    spec.ranks_per_group = 64;
    EXPECT_EQ(offered(name, false), built && !t.takes_dimensions && !t.reduces_in_network && !t.names_levels) << name;
    spec.dimensions = {4, 4, 4};
    EXPECT_EQ(offered(name, false), built && !t.reduces_in_network && !t.names_levels) << name;
  }
}

TEST(Registry, NamesTheFormsOfAHierarchyThatBuild) {
  ScheduleSpec spec;
  spec.ranks = 64;
  spec.ranks_per_group = 8;
  const auto has = [&](const char* form, bool in_network) {
    const auto forms = nested_forms(spec, in_network);
    return std::find(forms.begin(), forms.end(), form) != forms.end();
  };
  EXPECT_TRUE(has("hierarchical(direct,tree)", false));
  EXPECT_TRUE(has("hierarchical(nvls,tree)", true));
  EXPECT_FALSE(has("hierarchical(nvls,tree)", false));
  EXPECT_FALSE(has("hierarchical(tree,ring)", true));
  spec.op = Collective::kBroadcast;
  EXPECT_TRUE(has("hierarchical(tree,ring)", false));
  spec.op = Collective::kAllToAll;
  EXPECT_TRUE(nested_forms(spec, true).empty());
  spec.op = Collective::kAllReduce;
  spec.ranks_per_group = 64;
  EXPECT_TRUE(nested_forms(spec, true).empty());
}

// Engines count NICs and channels by the traits.
TEST(Registry, KnowsHowManyChannelsShareAnOrder) {
  for (const std::string& name : algorithm_names()) {
    const std::uint32_t each = traits_of(name).channels_per_order;
    ScheduleSpec spec;
    spec.algorithm = name;
    spec.ranks = spec.ranks_per_group = 8;
    if (!traits_of(name).takes_orders) {
      EXPECT_EQ(each, 1u) << name;
      continue;
    }
    EXPECT_EQ(build_schedule(spec).value().channels, each) << name;
    spec.orders.assign(3, {3, 1, 4, 0, 5, 2, 6, 7});
    const Schedule s = build_schedule(spec).value();
    EXPECT_EQ(s.channels, 3 * each) << name;
    EXPECT_TRUE(verify(s).ok()) << name;
  }
}

TEST(Registry, KnowsThatLevelsAreNamedInParentheses) {
  EXPECT_TRUE(traits_of("hierarchical(ring,tree)").names_levels);
  EXPECT_EQ(traits_of("ring(tree)"), AlgorithmTraits());
  EXPECT_EQ(traits_of("rong"), AlgorithmTraits());
}

TEST(Registry, RefusesInvalidSpecs) {
  const auto refuse = [](std::string algorithm, auto change) {
    ScheduleSpec spec;
    spec.algorithm = std::move(algorithm);
    spec.ranks = 24;
    spec.ranks_per_group = 8;
    change(spec);
    const auto s = build_schedule(spec);
    return s.ok() ? "" : s.error().message;
  };
  const auto nothing = [](ScheduleSpec&) {};
  EXPECT_EQ(refuse("hierarchical(nvls,tree)", nothing), "");
  EXPECT_THAT(refuse("hierarchical(ring)", nothing), HasSubstr("1 algorithms for 2 levels"));
  EXPECT_THAT(refuse("hierarchical(ring,", nothing), HasSubstr("end the list with ')'"));
  EXPECT_THAT(refuse("hierarchical(tree,ring)", nothing), HasSubstr("only be the last level of an all_reduce"));
  EXPECT_THAT(refuse("hierarchical(ring,bruck)", nothing),
              HasSubstr("'bruck' is not an algorithm for one level; use one of"));
  EXPECT_THAT(refuse("ring(tree)", nothing), HasSubstr("algorithm 'ring(tree)' has no schedule"));
  EXPECT_THAT(refuse("hierarchical", [](auto& s) { s.dimensions = {2, 3, 5}; }), HasSubstr("do not divide"));
  EXPECT_THAT(refuse("torus",
                     [](auto& s) {
                       s.dimensions = {0, 24};
                     }),
              HasSubstr("whose product is the number of ranks"));
  EXPECT_THAT(refuse("hierarchical(ring,nvls)", nothing), HasSubstr("can only be the innermost level"));
  EXPECT_THAT(refuse("hierarchical(nvls,nvls)", nothing), HasSubstr("can only be the innermost level"));
  EXPECT_EQ(refuse("torus(2,3,4)", nothing), "");
  EXPECT_EQ(refuse("torus(6,4)", [](auto& s) { s.dimensions = {2, 3, 4}; }), "");
  EXPECT_THAT(refuse("torus(4,4,4)", nothing), HasSubstr("4 x 4 x 4 is not 24"));
  EXPECT_THAT(refuse("torus(1,2,3,4)", nothing), HasSubstr("up to three dimensions"));
  for (const char* name : {"torus()", "torus(6,)", "torus(6,4x)", "torus(-6,4)", "torus(0,24)"})
    EXPECT_THAT(refuse(name, nothing), HasSubstr("write the extents of a torus like torus(4,4,4)")) << name;
  EXPECT_THAT(refuse("nvls", [](auto& s) { s.ranks = 12; }), HasSubstr("do not divide into domains of 8"));
  EXPECT_THAT(refuse("sharp", [](auto& s) { s.channels = 3, s.max_trees = 2; }), HasSubstr("2 trees here, not 3"));
  EXPECT_THAT(refuse("sharp", [](auto& s) { s.message_bytes = 4097, s.max_message_bytes = 4096; }),
              HasSubstr("up to 4096 bytes here, not 4097"));
  EXPECT_THAT(refuse("tree", [](auto& s) { s.channels = 3; }), HasSubstr("2 channels or a multiple of it, not 3"));
  EXPECT_THAT(refuse("ring",
                     [](auto& s) {
                       s.orders = {{0, 1, 1}};
                     }),
              HasSubstr("does not contain each of 24 ranks once"));
  EXPECT_THAT(refuse("direct", [](auto& s) { s.op = Collective::kAllToAllV, s.ranks = 1u << 20; }),
              HasSubstr("more pairs than can be counted"));
  EXPECT_THAT(refuse("direct",
                     [](auto& s) {
                       s.op = Collective::kAllToAllV, s.pairs.begin = {0, 3};
                     }),
              HasSubstr("needs 577 sums"));
}

TEST(Registry, AcceptsOneRank) {
  for (const char* name : {"ring", "tree", "hierarchical"}) {
    const auto s = build_schedule(name, Collective::kAllReduce, 1, 1, 0);
    ASSERT_TRUE(s.ok());
    EXPECT_GE(s->chunks, 1u);
  }
}

}  // namespace
}  // namespace busbar::collectives
