#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "busbar/popular/claim.h"
#include "busbar/popular/internal/formula.h"
#include "busbar/popular/internal/json_path.h"
#include "busbar/spec/catalog.h"

namespace busbar::popular {
namespace {

using testing::HasSubstr;

Json machine() {
  return {{"levels", Json::array({{{"name", "hbm"}, {"rate", 3350}}, {{"name", "nvlink"}, {"rate", 450.5}}})},
          {"whole", true},
          {"sizes", Json::array({8, 16})}};
}

TEST(Formula, ComputesWithNamesAndComparisons) {
  EXPECT_DOUBLE_EQ(*evaluate_formula("2 * (n - 1) / n * bytes", {{"n", 8}, {"bytes", 140}}), 245);
  EXPECT_EQ(*evaluate_formula("a < b && abs(-1) == 1", {{"a", 1}, {"b", 2}}), 1);
  EXPECT_EQ(*evaluate_formula("max(1, 2) - min(1, 2) > 1", {}), 0);
}

TEST(Formula, BindsAsInMathematics) {
  EXPECT_EQ(*evaluate_formula("8 - 4 - 2 * 2 / 4", {}), 3);
  EXPECT_EQ(*evaluate_formula("-2 ^ 2 + 2 ^ 3 ^ 2", {}), 508);
  EXPECT_EQ(*evaluate_formula("2 ^ -1 * 1e3", {}), 500);
  EXPECT_EQ(*evaluate_formula("1 + 1 >= 2 && 2 != 3", {}), 1);
  EXPECT_EQ(*evaluate_formula("log2(max(2, 16, 4))", {}), 4);
}

TEST(Formula, RefusesWhatHasNoValue) {
  EXPECT_THAT(evaluate_formula("1 / 0", {}).error().text(), HasSubstr("no finite value"));
  EXPECT_THAT(evaluate_formula("rate * 2", {}).error().text(), HasSubstr("rate"));
  EXPECT_FALSE(evaluate_formula("", {}).ok());
  EXPECT_FALSE(evaluate_formula("2 *", {}).ok());
  for (const char* formula : {"(1", "1)", "1 2", "abs(1, 2)", "sin(1)", "max()", "1 + # 2", "1 = 1"})
    EXPECT_FALSE(evaluate_formula(formula, {}).ok()) << formula;
  EXPECT_FALSE(evaluate_formula(std::string(100'000, '('), {}).ok());
}

TEST(JsonPath, FindsItemsByIndexAndByWhatTheyAreCalled) {
  EXPECT_EQ(*number_at(machine(), "levels[1].rate"), 450.5);
  EXPECT_EQ(*number_at(machine(), "levels[hbm].rate"), 3350);
  EXPECT_EQ(*number_at(machine(), "levels[3350].rate"), 3350);
  EXPECT_EQ(*number_at(machine(), "levels[*]"), 2);
  EXPECT_EQ(*number_at(machine(), "sizes[1]"), 16);
  EXPECT_EQ(*number_at(machine(), "whole"), 1);
}

TEST(JsonPath, NamesThePartThatLeadsNowhere) {
  EXPECT_THAT(number_at(machine(), "levels[pcie].rate").error().text(), HasSubstr("'pcie' of 'levels[pcie].rate'"));
  for (const char* path : {"levels", "levels[1", "rates", "whole.part", "sizes[2]", "levels[1].name", "sizes[*].x", ""})
    EXPECT_FALSE(number_at(machine(), path).ok()) << path;
}

PopularClaim read_one(const std::string& keys) {
  const auto text = read_popular_text(*YamlDocument::parse(
      "name: x\ntitle: X\nsource: texts\nclaims:\n  - {id: a, said: something, " + keys + "}\n", "x"));
  EXPECT_TRUE(text.ok()) << text.error().text();
  return text.ok() ? text->claims.front() : PopularClaim{};
}

/// Of a claim with these keys, where "cut" is 450 GB/s in one direction.
JudgedClaim judged(const std::string& keys) {
  static PopularClaim claim;
  claim = read_one(keys + ", take: {cut: \"topo m -> levels[1].rate\"}");
  return judge_claim(claim, [](const std::string& command) -> Result<Json> {
    if (command != "topo m") return invalid("no such command");
    return Json{{"levels", Json::array({{{"rate", 1}}, {{"rate", 450}}})}};
  });
}

TEST(Verdict, ComparesTheFigureSaidWithTheOneComputed) {
  EXPECT_EQ(judged("value: 450, computed: cut").verdict, ClaimVerdict::kRight);
  EXPECT_EQ(judged("value: 470, computed: cut").verdict, ClaimVerdict::kRight);
  EXPECT_EQ(judged("value: 500, computed: cut").verdict, ClaimVerdict::kNear);
  EXPECT_EQ(judged("value: 400, computed: cut").verdict, ClaimVerdict::kNear);
  const JudgedClaim wrong = judged("value: 900, computed: cut");
  EXPECT_EQ(wrong.verdict, ClaimVerdict::kWrong);
  EXPECT_DOUBLE_EQ(wrong.off_by, 2);
  EXPECT_DOUBLE_EQ(judged("value: 45, computed: cut").off_by, 0.1);
}

TEST(Verdict, CountsBothDirectionsWhereTheTextDoes) {
  EXPECT_EQ(judged("value: 900, both_directions: true, computed: cut").verdict, ClaimVerdict::kRightTwoWay);
  EXPECT_EQ(judged("value: 450, both_directions: true, computed: cut").verdict, ClaimVerdict::kWrong);
  EXPECT_EQ(judged("value: 980, both_directions: true, computed: cut").verdict, ClaimVerdict::kNear);
}

TEST(Verdict, InsideARangeItDependsOutsideItIsWrong) {
  const std::string range = ", computed: cut, up_to: 2 * cut";
  EXPECT_EQ(judged("value: 700" + range).verdict, ClaimVerdict::kRight);
  EXPECT_EQ(judged("value: 700, depends: the generation" + range).verdict, ClaimVerdict::kDepends);
  const JudgedClaim above = judged("value: 1800, depends: the generation" + range);
  EXPECT_EQ(above.verdict, ClaimVerdict::kWrong);
  EXPECT_DOUBLE_EQ(above.off_by, 2);
  EXPECT_DOUBLE_EQ(judged("value: 225" + range).off_by, 0.5);
  EXPECT_EQ(judged("value: 700, computed: 2 * cut, up_to: cut").verdict, ClaimVerdict::kRight);  // either end first
}

TEST(Verdict, AStatementHoldsOrNot) {
  EXPECT_EQ(judged("computed: cut, holds: cut > 400").verdict, ClaimVerdict::kRight);
  EXPECT_EQ(judged("computed: cut, holds: cut > 500").verdict, ClaimVerdict::kWrong);
  EXPECT_EQ(judged("computed: cut, holds: cut > 400, depends: the load").verdict, ClaimVerdict::kDepends);
  EXPECT_EQ(judged("computed: cut, depends: the load").verdict, ClaimVerdict::kDepends);
  EXPECT_EQ(judged("external: the market").verdict, ClaimVerdict::kExternal);
}

TEST(Verdict, WhatCannotBeComputedSaysWhy) {
  const JudgedClaim formula = judged("value: 1, computed: cut / 0");
  EXPECT_EQ(formula.verdict, ClaimVerdict::kNotComputed);
  EXPECT_THAT(formula.problem, HasSubstr("no finite value"));
  const PopularClaim claim = read_one("value: 1, computed: a, take: {a: \"path m -> x\"}");
  EXPECT_THAT(judge_claim(claim, [](const std::string&) -> Result<Json> { return invalid("no such machine"); }).problem,
              HasSubstr("no such machine"));
}

TEST(PopularText, RefusesClaimsThatCannotBeJudged) {
  const auto error_of = [](const std::string& keys) {
    const auto text = read_popular_text(
        *YamlDocument::parse("name: x\ntitle: X\nclaims:\n  - {id: a, said: b, " + keys + "}\n", "x.yaml"));
    return text.ok() ? "" : text.error().text();
  };
  EXPECT_THAT(error_of("value: 1"), HasSubstr("x.yaml:4"));
  EXPECT_THAT(error_of("value: 1"), HasSubstr("needs one of computed"));
  EXPECT_THAT(error_of("computed: 1, external: me"), HasSubstr("needs one of computed"));
  EXPECT_THAT(error_of("computed: 1"), HasSubstr("nothing to judge"));
  EXPECT_THAT(error_of("computed: a, value: 1, take: {a: topo m}"), HasSubstr("write COMMAND -> PATH"));
  EXPECT_THAT(error_of("computed: 1, value: 1, valu: 2"), HasSubstr("valu"));
}

TEST(PopularText, EveryNumberTakenIsUsedAndEveryClaimHasItsOwnName) {
  std::set<std::string> ids;
  const spec::Catalog catalog;
  for (const std::string& name : catalog.names("popular")) {
    const auto text = read_popular_text(*catalog.load("popular", name));
    ASSERT_TRUE(text.ok()) << text.error().text();
    for (const PopularClaim& c : text->claims) {
      EXPECT_TRUE(ids.insert(c.id).second) << c.id << " occurs twice";
      std::map<std::string, double> values;
      for (const auto& term : c.terms) values[term.name] = 2;
      for (const std::string& formula : {c.computed, c.up_to, c.holds})
        EXPECT_TRUE(formula.empty() || evaluate_formula(formula, values).ok()) << c.id << ": " << formula;
      for (const auto& term : c.terms) {
        auto without = values;
        without.erase(term.name);
        bool used = false;
        for (const std::string& formula : {c.computed, c.up_to, c.holds})
          used = used || (!formula.empty() && !evaluate_formula(formula, without).ok());
        EXPECT_TRUE(used) << c.id << " takes " << term.name << " for nothing";
      }
    }
  }
  EXPECT_GE(ids.size(), 189u);
}

}  // namespace
}  // namespace busbar::popular
