#include "busbar/predict/rank_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ranks = std::vector<std::uint32_t>;

std::vector<Ranks> members(const GroupFamily& f) {
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
  EXPECT_THAT(parsed({"0:2+2x2+32x2"}), ElementsAre(Ranks{0, 1}, Ranks{2, 3}, Ranks{32, 33}, Ranks{34, 35}));
  EXPECT_THAT(parsed({"0,5", "1,4"}), ElementsAre(Ranks{0, 5}, Ranks{1, 4}));
}

TEST(RankGroups, RefuseWhatCannotBeAGroup) {
  EXPECT_THAT(refused({"a"}), HasSubstr("not a rank or range"));
  EXPECT_THAT(refused({"4:4"}), HasSubstr("not a rank or range"));
  EXPECT_THAT(refused({"0:4:0"}), HasSubstr("not a rank or range"));
  EXPECT_THAT(refused({"0:4+x"}), HasSubstr("not a shift"));
  EXPECT_THAT(refused({"0:65"}), HasSubstr("64 GPUs"));
  EXPECT_THAT(refused({"0,0"}), HasSubstr("twice"));
  EXPECT_THAT(refused({"0:4", "4:6"}), HasSubstr("groups of 2 ranks, others have 4"));
  EXPECT_THAT(refused({"0:2+4000000000x4000000000"}), HasSubstr("too many"));
}

TEST(RankGroups, WhatIsWrittenIsReadAsTheSameGroups) {
  std::vector<GroupFamily> all{one_group(1), one_group(2), one_group(64)};
  GroupFamily f;
  f.base = 3, f.inner = {{4, 8}}, f.outer = {{5, 1}};
  all.push_back(f);
  f.inner = {{2, 0xffff'fffeu}}, f.outer = {{2, 4}};  // descending
  all.push_back(f);
  f.base = 40, f.inner = {{2, 1}, {3, 4}}, f.outer = {{2, 2}, {2, 0xffff'fff0u}};
  all.push_back(f);
  f = {};
  f.listed = {7, 3, 9, 1, 2, 3}, f.listed_groups = 2;
  all.push_back(f);
  for (const GroupFamily& family : all)
    EXPECT_EQ(parsed(rank_groups_text(family)), members(family)) << rank_groups_text(family).front();
  EXPECT_THAT(rank_groups_text(all[3]), ElementsAre("3:28:8+1x5"));
}

}  // namespace
}  // namespace busbar
