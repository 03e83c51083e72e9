#include "busbar/collectives/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/every_schedule.h"

namespace busbar::collectives {
namespace {

using ::testing::HasSubstr;

using Rounds = std::vector<std::pair<std::uint32_t, std::vector<Move>>>;  ///< channel and moves

Rounds rounds_of(const Schedule& s) {
  Rounds out;
  for (const Phase& p : s.phases)
    for (std::uint32_t r = 0; r < rounds(s, p); ++r) {
      out.emplace_back(p.channel, std::vector<Move>{});
      for_each_move(s, p, r, [&](const Move& m) { out.back().second.push_back(m); });
    }
  return out;
}

Status run(const Schedule& s, const Rounds& all) {
  Verifier v(s);
  for (const auto& [channel, moves] : all) BUSBAR_RETURN_IF_ERROR(v.round(channel, moves));
  return v.finish();
}

std::vector<std::uint32_t> shuffled(std::uint32_t n, RandomStream& random) {
  std::vector<std::uint32_t> order(n);
  for (std::uint32_t i = 0; i < n; ++i) order[i] = i;
  for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// From every all-gather and reduce-scatter: rings in several orders, levels, dimensions, reducers.
TEST(Schedules, WithARootAreProvedAsBroadcastAndReduce) {
  int proved = 0;
  const auto prove = [&](const BuiltCase& c) {
    const Collective op = c.schedule.op;
    if ((op != Collective::kAllGather && op != Collective::kReduceScatter) || c.schedule.ranks > 32) return;
    for (const std::uint32_t root : {0u, c.schedule.ranks / 2, c.schedule.ranks - 1}) {
      const Schedule s = with_root(c.schedule, root);
      EXPECT_EQ(s.op, op == Collective::kAllGather ? Collective::kBroadcast : Collective::kReduce);
      const Status ok = verify(with_finer_chunks(s, 3));
      ASSERT_TRUE(ok.ok()) << c.text() << " root " << root << ": " << ok.error().text();
      ++proved;
    }
  };
  for_every_schedule(prove);
  for_every_variant(prove);
  EXPECT_GT(proved, 2000);
}

// Only the root has something to add; without the mark, moves of nothing are refused.
TEST(Schedules, OfAllReducesAreProvedAsBroadcasts) {
  int proved = 0;
  const auto prove = [&](const BuiltCase& c) {
    if (c.schedule.op != Collective::kAllReduce || c.schedule.ranks > 32 || c.schedule.ranks < 3) return;
    for (const std::uint32_t root : {0u, c.schedule.ranks - 1}) {
      Schedule s = for_root_alone(c.schedule, Collective::kBroadcast, root);
      const Status ok = verify(s);
      ASSERT_TRUE(ok.ok()) << c.text() << " root " << root << ": " << ok.error().text();
      s.sends_nothing = false;
      EXPECT_FALSE(verify(s).ok()) << c.text();
      ++proved;
    }
  };
  for_every_schedule(prove);
  for_every_variant(prove);
  EXPECT_GT(proved, 500);
}

TEST(Schedules, AreProvedForATorusOfAnyExtents) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed, "torus extents");
    ScheduleSpec spec;
    spec.algorithm = "torus(";
    for (std::uint64_t d = 1 + random.below(3); d > 0; --d) {
      const auto extent = static_cast<std::uint32_t>(1 + random.below(6));
      spec.ranks *= extent;
      spec.algorithm += std::to_string(extent) + (d > 1 ? "," : ")");
    }
    spec.channels = static_cast<std::uint32_t>(random.below(5));
    for (const Collective op : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
      spec.op = op;
      const auto s = build_schedule(spec);
      ASSERT_TRUE(s.ok()) << spec.algorithm << ": " << s.error().text();
      const Status proved = verify(*s);
      EXPECT_TRUE(proved.ok()) << spec.algorithm << " " << name_of(op) << ": " << proved.error().text();
    }
  }
}

TEST(Schedules, MeetTheDemandOfTheirCollectiveExactly) {
  std::map<std::string, int> proved;
  const auto prove = [&](const BuiltCase& c) {
    for (const std::uint32_t parts : {1u, 3u, 5u}) {
      if (all_to_all(c.schedule.op) && c.schedule.ranks > 24 && parts > 1) continue;  // n n chunks at n ranks
      const Status ok = verify(with_finer_chunks(c.schedule, parts));
      ASSERT_TRUE(ok.ok()) << c.text() << " x " << parts << ": " << ok.error().text();
      ++proved[c.schedule.algorithm + " " + name_of(c.schedule.op)];
    }
  };
  for_every_schedule(prove);
  for (const std::string& name : algorithm_names())
    for (int o = 0; o <= static_cast<int>(Collective::kAllToAllV); ++o)
      if (const auto op = static_cast<Collective>(o); build_schedule(name, op, 8, 4, 0).ok())
        EXPECT_GE(proved[name + " " + name_of(op)], 21) << name << " " << name_of(op);
  EXPECT_EQ(proved["ring all_reduce"], 21 * 3);
  EXPECT_GT(proved["tree broadcast"], 21 * 3 * 3);
  EXPECT_GT(proved["hierarchical broadcast"], 21 * 3 * 4);
  for_every_variant(prove);
  EXPECT_GT(proved["hierarchical(nvls,tree) all_reduce"], 0);
  EXPECT_GT(proved["hierarchical(direct,ring,pat) reduce_scatter"], 0);
}

TEST(Schedules, OfOneShotAreProvedAndSendWholeBuffersToEveryPeer) {
  for (const std::uint32_t n : {1u, 2u, 3u, 7u, 8u, 13u, 72u}) {
    const Schedule s = build_one_shot(n);
    for (const std::uint32_t parts : {1u, 3u}) {
      const Status ok = verify(with_finer_chunks(s, parts));
      EXPECT_TRUE(ok.ok()) << n << ": " << ok.error().text();
    }
    std::uint32_t sends = 0;
    if (n > 1) for_each_move(s, s.phases[0], 0, [&](const Move& m) { sends += m.src == 0 ? 1 : 0; });
    EXPECT_EQ(sends, n - 1);  // of rank 0, each the whole buffer
  }
}

TEST(Schedules, HoldInAnyOrderOfRanks) {
  RandomStream random(1, "orders");
  for_every_schedule([&](const BuiltCase& c) {
    Schedule s = c.schedule;
    // If families overlap in part, one order cannot change alone: reducers of reducers, and ranks that fold.
    const bool partly = s.algorithm == "sharp" || (s.algorithm == "rabenseifner" && s.op == Collective::kAllReduce);
    if (s.op == Collective::kSendRecv || partly || s.ranks > 24) return;
    for (GroupFamily& f : s.families) {
      f.order = shuffled(f.size(), random);
      for (Phase& p : s.phases) {
        if (&s.families[p.family] != &f || !rooted(s.op)) continue;
        const std::uint32_t member = c.schedule.families[p.family].member_at(p.root);
        for (std::uint32_t at = 0; at < f.size(); ++at)
          if (f.order[at] == member) p.root = at;
      }
    }
    const Status ok = verify(s);
    ASSERT_TRUE(ok.ok()) << c.text() << ": " << ok.error().text();
  });
}

TEST(Schedules, SayTheSameWithListedGroups) {
  for_every_schedule([&](const BuiltCase& c) {
    Schedule s = c.schedule;
    for (GroupFamily& f : s.families) {
      GroupFamily listed = f;
      listed.listed_groups = f.groups();
      for (std::uint32_t g = 0; g < f.groups(); ++g)
        for (std::uint32_t m = 0; m < f.size(); ++m) listed.listed.push_back(f.actor(g, m));
      f = listed;
    }
    ASSERT_EQ(rounds_of(s), rounds_of(c.schedule)) << c.text();
  });
}

/// A broadcast's all-gather or multicast also sends the root data that it has; such moves may be missing.
bool has_spare_moves(const Schedule& s) {
  const auto is = [&](const char* name) { return s.algorithm == name; };
  return s.op == Collective::kBroadcast && (is("rabenseifner") || is("direct") || is("sharp"));
}

/// Whether a move of `second` sends data that a move of `first` delivered.
bool depends(const std::vector<Move>& second, const std::vector<Move>& first) {
  for (const Move& b : second)
    for (const Move& a : first)
      if (b.src == a.dst && b.src_buffer == a.dst_buffer && b.first_chunk < a.first_chunk + a.chunk_count &&
          a.first_chunk < b.first_chunk + b.chunk_count)
        return true;
  return false;
}

// Every single fault of these kinds changes what some rank ends with or breaks a rule on the way.
TEST(Verifier, ObjectsToEveryDroppedRound) {
  for_every_schedule([&](const BuiltCase& c) {
    if (c.schedule.ranks > 12 || has_spare_moves(c.schedule)) return;
    const Rounds good = rounds_of(c.schedule);
    for (std::size_t r = 0; r < good.size(); ++r) {
      if (good[r].second.empty()) continue;
      Rounds bad = good;
      bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(r));
      ASSERT_FALSE(run(c.schedule, bad).ok()) << c.text() << " without round " << r;
    }
  });
}

TEST(Verifier, ObjectsToEveryDroppedMoveAndEveryWrongChunk) {
  for_every_schedule([&](const BuiltCase& c) {
    if (c.schedule.ranks > 7 || has_spare_moves(c.schedule)) return;
    const Rounds good = rounds_of(c.schedule);
    for (std::size_t r = 0; r < good.size(); ++r)
      for (std::size_t i = 0; i < good[r].second.size(); ++i) {
        Rounds bad = good;
        bad[r].second.erase(bad[r].second.begin() + static_cast<std::ptrdiff_t>(i));
        ASSERT_FALSE(run(c.schedule, bad).ok()) << c.text() << " without " << describe(good[r].second[i]);
        if (c.schedule.chunks == good[r].second[i].chunk_count) continue;
        bad = good;
        Move& m = bad[r].second[i];
        m.first_chunk = (m.first_chunk + m.chunk_count) % c.schedule.chunks;
        ASSERT_FALSE(run(c.schedule, bad).ok()) << c.text() << " with " << describe(m);
      }
  });
}

TEST(Verifier, ObjectsToRoundsInTheWrongOrder) {
  for_every_schedule([&](const BuiltCase& c) {
    if (c.schedule.ranks > 12 || has_spare_moves(c.schedule)) return;
    const Rounds good = rounds_of(c.schedule);
    for (std::size_t r = 0; r + 1 < good.size(); ++r) {
      if (good[r].first != good[r + 1].first || !depends(good[r + 1].second, good[r].second)) continue;
      Rounds bad = good;
      std::swap(bad[r], bad[r + 1]);
      ASSERT_FALSE(run(c.schedule, bad).ok()) << c.text() << " with rounds " << r << " and " << r + 1 << " swapped";
    }
  });
}

class Faults : public ::testing::Test {
 protected:
  std::string after(std::vector<Move> moves) {
    Verifier v(schedule_);
    const Status s = v.round(0, moves);
    return s.ok() ? "" : s.error().message;
  }
  Schedule schedule_ = build_ring(Collective::kAllReduce, 4).value();
};

TEST_F(Faults, AreNamedWithRoundAndMove) {
  const auto in = Buffer::kInput, out = Buffer::kOutput;
  EXPECT_THAT(after({{0, 1, 2, 1, in, out, true}, {2, 1, 2, 1, in, out, false}}),
              HasSubstr("ring all_reduce: channel 0, round 0: 2 -> 1, chunks [2, 3), input -> output: a second write"));
  EXPECT_THAT(after({{0, 1, 2, 1, in, out, true}, {2, 1, 2, 1, in, out, true, in}}), HasSubstr("a second write"));
  EXPECT_EQ(after({{0, 1, 2, 1, in, out, true}, {2, 1, 2, 1, in, out, true, out}}), "");
  EXPECT_THAT(after({{0, 1, 2, 1, out, out, true}, {1, 2, 2, 1, out, out, true}}), HasSubstr("while 1 sends it"));
  EXPECT_THAT(after({{0, 4, 0, 1, in, out, true}}), HasSubstr("only 4 actors"));
  EXPECT_THAT(after({{0, 1, 3, 2, in, out, true}}), HasSubstr("only 4 chunks"));
  EXPECT_THAT(after({{0, 1, 0, 1, in, in, true}}), HasSubstr("writes to an input"));
  EXPECT_THAT(after({{1, 1, 0, 1, in, out, true}}), HasSubstr("to itself"));
  EXPECT_THAT(after({{1, 2, 0, 0, in, out, true}}), HasSubstr("moves nothing"));
  schedule_ = build_ring(Collective::kAllGather, 4).value();
  EXPECT_THAT(after({{0, 1, 2, 1, in, out, false}}), HasSubstr("sends chunk 2, which 0 does not hold"));
  schedule_ = build_ring(Collective::kReduceScatter, 4).value();
  EXPECT_THAT(after({{0, 1, 2, 1, in, out, true}}), HasSubstr("rank 1 has no output chunk 2"));
}

TEST_F(Faults, CountAContributionOnce) {
  Verifier v(schedule_);
  const Move m{0, 1, 2, 1, Buffer::kInput, Buffer::kOutput, true, Buffer::kOutput};
  EXPECT_TRUE(v.round(0, std::vector{m}).ok());
  const Status again = v.round(0, std::vector{m});
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("round 1"));
  EXPECT_THAT(again.error().message, HasSubstr("counts rank 0 twice in chunk 2 of 1"));
}

TEST_F(Faults, KeepChannelsApart) {
  Verifier v(build_tree(Collective::kBroadcast, 3).value());
  EXPECT_TRUE(v.round(0, std::vector{Move{0, 1, 0, 1, Buffer::kInput, Buffer::kOutput, false}}).ok());
  const Status s = v.round(1, std::vector{Move{0, 2, 0, 1, Buffer::kInput, Buffer::kOutput, false}});
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("chunk 0 belongs to channel 0"));
}

}  // namespace
}  // namespace busbar::collectives
