#include "busbar/formats/comm_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal_of_groups(const std::string& text) { return read_comm_groups(text, "g.json").error().text(); }

TEST(CommGroups, KeepTheOrderOfTheirRanks) {
  const auto groups = read_comm_groups(R"({"dp": [5, 1, 3], "1": [0]})", "g.json").value();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].name, "dp");
  EXPECT_THAT(groups[0].members, ElementsAre(5, 1, 3));
  EXPECT_THAT(groups[1].members, ElementsAre(0));
}

TEST(CommGroups, AreToldFromOtherJson) {
  EXPECT_TRUE(looks_like_comm_groups(" {\n \"1\": [ 0, 1 ]}"));
  for (const char* other : {R"({"logical-dims": ["8","2"]})", R"({"traceEvents": []})", R"({"a": 1})", "[0, 1]", "{}",
                            "", "{\"", R"({"all-reduce-implementation": ["ring"]})"})
    EXPECT_FALSE(looks_like_comm_groups(other)) << other;
}

TEST(CommGroups, WrongOnesNameTheGroup) {
  EXPECT_THAT(refusal_of_groups(R"({"1": []})"), HasSubstr("g.json: 1: needs a list of ranks"));
  EXPECT_THAT(refusal_of_groups(R"({"1": [0], "2": [0, -1]})"), HasSubstr("g.json: 2: '-1' is not a rank"));
  EXPECT_THAT(refusal_of_groups(R"({"1": [3, 2, 3]})"), HasSubstr("has rank 3 twice"));
  EXPECT_THAT(refusal_of_groups("{}"), HasSubstr("is not a map from groups to ranks"));
  EXPECT_THAT(refusal_of_groups("{\"1\": [0,]}"), HasSubstr("g.json:1:10: not JSON"));
}

TEST(CommGroups, GiveRanksToCollectivesThatNameThem) {
  CommTrace trace;
  trace.collectives.resize(3);
  trace.collectives[0].group = "b";
  trace.collectives[2].group = "a";
  const std::vector<CommGroup> groups{{"a", {7}}, {"b", {4, 2}}};
  ASSERT_TRUE(assign_groups(groups, "g.json", trace).ok());
  EXPECT_THAT(trace.collectives[0].members, ElementsAre(4, 2));
  EXPECT_EQ(trace.collectives[0].ranks, 2u);
  EXPECT_TRUE(trace.collectives[1].members.empty()) << "it names no group: all ranks";
  EXPECT_EQ(trace.collectives[2].ranks, 1u);
  trace.collectives[1].group = "c";
  EXPECT_THAT(assign_groups(groups, "g.json", trace).error().text(), HasSubstr("g.json: lacks group 'c'"));
}

}  // namespace
}  // namespace busbar::formats
