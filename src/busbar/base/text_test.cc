#include "busbar/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar {
namespace {

using testing::ElementsAre;

TEST(Text, ANumberIsTheWholeOfATextAndFits) {
  int n = 0;
  EXPECT_TRUE(is_number("-12", n));
  EXPECT_EQ(n, -12);
  for (const char* text : {"", " 1", "1 ", "1.5", "12x", "99999999999"}) EXPECT_FALSE(is_number(text, n)) << text;
  double x = 0;
  EXPECT_TRUE(is_number("1.5e3", x));
  EXPECT_EQ(x, 1500);
  EXPECT_TRUE(is_number("ff", n, 16));
  EXPECT_EQ(n, 255);
}

TEST(Text, PiecesAndSeparatorsAreTheText) {
  EXPECT_THAT(split_at("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split_at("a,", ','), ElementsAre("a", ""));
  EXPECT_THAT(split_at("", ','), ElementsAre(""));
}

TEST(CommaList, HasNoCommaBeforeItsFirstWord) {
  std::string list;
  append_word(list, "ring");
  EXPECT_EQ(list, "ring");
  append_word(list, "tree");
  EXPECT_EQ(list, "ring, tree");
  EXPECT_EQ(comma_list({}), "");
}

TEST(Text, OnlyLettersOfAsciiChangeCase) { EXPECT_EQ(lower("NVLink \xc3\x84 4"), "nvlink \xc3\x84 4"); }

TEST(Text, SuggestsTheNearestOrWhatElseToDo) {
  const std::vector<std::string> known{"ring", "tree"};
  EXPECT_EQ(suggestion("rnig", known, "use one of " + comma_list(known)), "did you mean 'ring'?");
  EXPECT_EQ(suggestion("dragonfly", known, "use one of " + comma_list(known)), "use one of ring, tree");
}

TEST(Text, SuggestsAllThatHaveTheWordAsAPart) {
  const std::vector<std::string> known{"h200-nvl", "gh200-1", "dgx-h200", "dgx-h100"};
  EXPECT_EQ(suggestion("H200", known, ""), "did you mean one of h200-nvl, dgx-h200?");
  EXPECT_EQ(suggestion("gh20", known, ""), "did you mean 'gh200-1'?");
  EXPECT_EQ(suggestion("dgx-h20", known, ""), "did you mean 'dgx-h200'?");
  EXPECT_EQ(suggestion("dg", known, "other"), "other");
  EXPECT_EQ(suggestion("gh200-77", known, "other"), "did you mean 'gh200-1'?");  // by its first part
  EXPECT_EQ(suggestion("tpu", {"tpu-1", "tpu-2", "tpu-3", "tpu-4", "tpu-5", "tpu-6", "tpu-7"}, ""),
            "did you mean one of tpu-1, tpu-2, tpu-3, tpu-4, tpu-5, tpu-6?");
}

}  // namespace
}  // namespace busbar
