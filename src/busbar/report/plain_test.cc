#include "busbar/report/plain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "busbar/base/utf8.h"

namespace busbar::report {
namespace {

using testing::ElementsAre;

TEST(EscapeMarkup, LeavesNothingThatOpensATagAnEntityOrEndsAnAttribute) {
  EXPECT_EQ(escape_markup(R"(<a href="x" id='y'>&amp;)"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;");
}

TEST(EscapeMarkup, ReplacesBytesThatAreNotUtf8AndControlsThatXmlForbids) {
  EXPECT_EQ(escape_markup("a\xFF\x01\xC0\xAF"
                          "b"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(escape_markup("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(escape_markup("5 \xC2\xB5s"), "5 \xC2\xB5s");
}

RC_GTEST_PROP(EscapeMarkup, AnyBytesBecomeTextWithoutMarkup, (const std::string& bytes)) {
  const std::string out = escape_markup(bytes);
  RC_ASSERT(!find_bad_text(out).has_value());
  RC_ASSERT(out.find_first_of("<>\"'") == std::string::npos);
}

TEST(EscapeTerminal, NoEscapeSequenceReachesTheTerminal) {
  EXPECT_EQ(escape_terminal("a\x1b[2Jb\nc\x7f\xC2\x9B", true), "a?[2Jb c??");
  EXPECT_EQ(escape_terminal("user\xE2\x80\xAEgpj.exe", true), "user?gpj.exe");  // it would appear backwards
}

TEST(EscapeTerminal, SpellsOurSignsInAscii) {
  EXPECT_EQ(escape_terminal("8 \xC3\x97 5 \xC2\xB5s \xE2\x86\x92 \xE2\x89\xA5 1 \xE6\xBC\xA2", false),
            "8 x 5 us -> >= 1 ?");
}

TEST(WrapWords, BreaksAtSpacesAndCutsLongWords) {
  EXPECT_THAT(wrap_words("the quick brown fox", 10), ElementsAre("the quick", "brown fox"));
  EXPECT_THAT(wrap_words("abcdefghij k", 4), ElementsAre("abcd", "efgh", "ij k"));
  EXPECT_THAT(wrap_words("it takes 18 % more", 11), ElementsAre("it takes", "18 % more"));
  EXPECT_THAT(wrap_words("18 %, 7", 3), ElementsAre("18", "%,", "7"));
  EXPECT_THAT(wrap_words("", 4), ElementsAre(""));
  EXPECT_THAT(wrap_words("   ", 4), ElementsAre(""));
}

RC_GTEST_PROP(WrapWords, NoLineIsTooLongAndNoLetterIsLost, (const std::string& bytes, std::uint8_t width)) {
  const std::string text = escape_terminal(bytes, true);
  const std::size_t w = 1 + width % 40;
  std::string all, want;
  for (const std::string& line : wrap_words(text, w)) {
    RC_ASSERT(display_width(line) <= w);
    all += line;
  }
  const auto letters = [](std::string s) {
    std::erase(s, ' ');
    return s;
  };
  RC_ASSERT(letters(all) == letters(text));
}

TEST(Pad, CountsCellsNotBytes) {
  EXPECT_EQ(pad_right("\xC2\xB5s", 4), "\xC2\xB5s  ");
  EXPECT_EQ(pad_left("\xC2\xB5s", 4), "  \xC2\xB5s");
  EXPECT_EQ(pad_left("long", 2), "long");
}

}  // namespace
}  // namespace busbar::report
