#include "busbar/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace busbar {
namespace {

TEST(Utf8, CodePointsAreReadAndInvalidBytesAreNot) {
  EXPECT_EQ(character_at("a", 0).code_point, 0x61u);
  EXPECT_EQ(character_at("\xc3\xa9", 0).code_point, 0xe9u);
  EXPECT_EQ(character_at("x\xe2\x80\xae", 1).code_point, 0x202eu);
  EXPECT_EQ(character_at("\xf4\x8f\xbf\xbf", 0).length, 4u);
  const std::string_view broken[] = {"\x80",         "\xc0\x80",         "\xc3", "\xc3(", "\xed\xa0\x80",
                                     "\xe0\x80\x80", "\xf4\x90\x80\x80", "\xff"};
  for (const std::string_view text : broken) EXPECT_FALSE(character_at(text, 0).whole) << static_cast<int>(text[0]);
}

TEST(Utf8, TheFirstByteThatIsNoTextIsNamedWithItsPlace) {
  EXPECT_FALSE(find_bad_text("tab\t, line\r\n and \xc3\xa9"));
  const auto control = find_bad_text("ab\n\xc3\xa9\x1b[0m");
  ASSERT_TRUE(control);
  EXPECT_EQ(control->line, 2);
  EXPECT_EQ(control->column, 3);
  EXPECT_NE(control->message.find("0x1b"), std::string::npos);
  const auto latin = find_bad_text("caf\xe9");
  ASSERT_TRUE(latin);
  EXPECT_EQ(latin->column, 4);
}

TEST(Utf8, ControlsAndMarksOfDirectionCommandATerminal) {
  for (const std::uint32_t c : {0x00u, 0x07u, 0x1bu, 0x7fu, 0x9bu, 0x200eu, 0x202eu, 0x2066u, 0x061cu})
    EXPECT_TRUE(commands_terminal(c)) << c;
  for (const std::uint32_t c : {0x20u, 0x7eu, 0xa0u, 0xe9u, 0x2014u, 0x4e2du, 0x1f600u})
    EXPECT_FALSE(commands_terminal(c)) << c;
}

}  // namespace
}  // namespace busbar
