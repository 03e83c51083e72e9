#include "busbar/predict/rank_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::predict {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ranks = std::vector<std::uint32_t>;

std::vector<Ranks> members(const collectives::GroupFamily& f) {
  std::vector<Ranks> out(f.groups());
  for (std::uint32_t g = 0; g < f.groups(); ++g)
    for (std::uint32_t m = 0; m < f.size(); ++m) out[g].push_back(f.actor(g, m));
  return out;
}
std::vector<Ranks> parsed(std::vector<std::string> texts) { return members(parse_rank_groups(texts, 64).value()); }
std::string refused(std::vector<std::string> texts) { return parse_rank_groups(texts, 64).error().text(); }

TEST(RankGroups, AreListsAndRanges) {
  EXPECT_THAT(parsed({"0,1,4"}), ElementsAre(Ranks{0, 1, 4}));
  EXPECT_THAT(parsed({"0:32:8"}), ElementsAre(Ranks{0, 8, 16, 24}));
  EXPECT_THAT(parsed({"0:25:8"}), ElementsAre(Ranks{0, 8, 16, 24}));
  EXPECT_THAT(parsed({"8,0"}), ElementsAre(Ranks{8, 0}));
  EXPECT_THAT(parsed({"0:2,8:10"}), ElementsAre(Ranks{0, 1, 8, 9}));
}

TEST(RankGroups, RepeatByShiftsAndByTexts) {
  EXPECT_THAT(parsed({"0:2+2x3"}), ElementsAre(Ranks{0, 1}, Ranks{2, 3}, Ranks{4, 5}));
  EXPECT_THAT(parsed({"0:2+2x1"}), ElementsAre(Ranks{0, 1}));
  EXPECT_THAT(parsed({"0:2+2x2+32x2"}), ElementsAre(Ranks{0, 1}, Ranks{2, 3}, Ranks{32, 33}, Ranks{34, 35}));
  EXPECT_THAT(parsed({"0,5", "1,4"}), ElementsAre(Ranks{0, 5}, Ranks{1, 4}));
  EXPECT_THAT(parsed({"0:9:4,1+16x2"}), ElementsAre(Ranks{0, 4, 8, 1}, Ranks{16, 20, 24, 17}));
}

TEST(RankGroups, AreAffineWhereOneRangeRepeats) {
  const collectives::GroupFamily f = parse_rank_groups(std::vector<std::string>{"2:16:4+1x2+16x3"}, 64).value();
  EXPECT_EQ(f.base, 2u);
  EXPECT_TRUE(f.listed.empty());
  EXPECT_EQ(f.inner, (std::vector<collectives::Axis>{{4, 4, 0}}));
  EXPECT_EQ(f.outer, (std::vector<collectives::Axis>{{2, 1, 0}, {3, 16, 0}}));
  EXPECT_EQ(parse_rank_groups(std::vector<std::string>{"0,2+1x2"}, 64)->listed_groups, 2u);
  EXPECT_EQ(parse_rank_groups(std::vector<std::string>{"0:2", "2:4+2x2"}, 64)->listed_groups, 3u);
}

TEST(RankGroups, AreWrittenAsFewRanges) {
  const auto text = [](std::vector<std::uint32_t> ranks) {
    collectives::GroupFamily f;
    f.listed = std::move(ranks), f.listed_groups = 1;
    return rank_groups_text(f).front();
  };
  EXPECT_EQ(text({5}), "5");
  EXPECT_EQ(text({0, 1}), "0:2");
  EXPECT_EQ(text({0, 8}), "0:9:8");
  EXPECT_EQ(text({0, 1, 4}), "0,1,4");
  EXPECT_EQ(text({4, 0, 1, 2}), "4,0:3");
  EXPECT_EQ(text({0, 1, 2, 9}), "0:3,9");
  EXPECT_EQ(text({0, 2, 4, 6, 7}), "0:7:2,7");
  EXPECT_EQ(text({6, 4, 2}), "6,4,2");
  collectives::GroupFamily many = collectives::one_group(4);
  many.outer = {{2, 4, 0}, {1, 9, 0}, {3, 16, 0}};
  EXPECT_THAT(rank_groups_text(many), ElementsAre("0:4+4x2+16x3"));
}

TEST(RankGroups, RefuseInvalidGroups) {
  EXPECT_THAT(refused({"a"}), HasSubstr("not a rank or range"));
  EXPECT_THAT(refused({"4:4"}), HasSubstr("not a rank or range"));
  EXPECT_THAT(refused({"0:4:0"}), HasSubstr("not a rank or range"));
  EXPECT_THAT(refused({"0:4+x"}), HasSubstr("not a shift"));
  EXPECT_THAT(refused({"0:65"}), HasSubstr("64 GPUs"));
  EXPECT_THAT(refused({"0,0"}), HasSubstr("twice"));
  EXPECT_THAT(refused({"0:4", "4:6"}), HasSubstr("groups of 2 ranks, others have 4"));
  EXPECT_THAT(refused({"0:2+4000000000x4000000000"}), HasSubstr("too many"));
  EXPECT_THAT(refused({"0:4+0x4194305"}), HasSubstr("too many"));
  EXPECT_THAT(refused({"5:4"}), HasSubstr("not a rank or range"));
  EXPECT_THAT(refused({"0:8:2:1"}), HasSubstr("'0:8:2:1'"));
  EXPECT_THAT(refused({"0,4294967296"}), HasSubstr("'4294967296'"));
  EXPECT_THAT(refused({"0,"}), HasSubstr("contains ''"));
  EXPECT_THAT(refused({"0:4+4"}), HasSubstr("'+4', which is not a shift"));
  EXPECT_THAT(refused({"0:4+4x0"}), HasSubstr("not a shift"));
  EXPECT_THAT(refused({"0:4+4x2x2"}), HasSubstr("not a shift"));
  EXPECT_THAT(refused({"64"}), HasSubstr("'64' is not a rank of a machine with 64 GPUs"));
  EXPECT_THAT(parsed({"63"}), ElementsAre(Ranks{63}));
  EXPECT_THAT(parsed({"0,1", "1,0"}), ElementsAre(Ranks{0, 1}, Ranks{1, 0})) << "twice, but in two groups";
}

TEST(RankGroups, WrittenGroupsReadBackEqual) {
  std::vector<collectives::GroupFamily> all{collectives::one_group(1), collectives::one_group(2),
                                            collectives::one_group(64)};
  collectives::GroupFamily f;
  f.base = 3, f.inner = {{4, 8}}, f.outer = {{5, 1}};
  all.push_back(f);
  f.inner = {{2, 0xffff'fffeu}}, f.outer = {{2, 4}};  // descending
  all.push_back(f);
  f.base = 40, f.inner = {{2, 1}, {3, 4}}, f.outer = {{2, 2}, {2, 0xffff'fff0u}};
  all.push_back(f);
  f = {};
  f.listed = {7, 3, 9, 1, 2, 3}, f.listed_groups = 2;
  all.push_back(f);
  for (const collectives::GroupFamily& family : all)
    EXPECT_EQ(parsed(rank_groups_text(family)), members(family)) << rank_groups_text(family).front();
  EXPECT_THAT(rank_groups_text(all[3]), ElementsAre("3:28:8+1x5"));
}

}  // namespace
}  // namespace busbar::predict
