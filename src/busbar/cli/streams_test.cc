#include "busbar/cli/streams.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace busbar::cli {
namespace {

std::string said(const std::string& line) {
  testing::internal::CaptureStderr();
  say(line);
  return testing::internal::GetCapturedStderr();
}

TEST(Streams, NothingThatIsSaidCommandsTheTerminal) {
  EXPECT_EQ(said("a\x1b]0;title\x07"
                 "b \xe2\x80\xae"
                 "c\nd"),
            "busbar: a?]0;title?b ?c d\n");
}

TEST(Streams, LongEchoesAreCutAndTheRestStays) {
  const std::string shown(200, 'x');
  EXPECT_EQ(said("before " + std::string(5000, 'x') + " after"), "busbar: before " + shown + "... after\n");
  EXPECT_EQ(said("'" + std::string(300, 'x') + " y' is long"), "busbar: '" + shown.substr(1) + "...' is long\n");
  const std::string normal = "a machine's name " + std::string(150, 'x') + " isn't " + std::string(150, 'y');
  EXPECT_EQ(said(normal), "busbar: " + normal + "\n");
  std::string wide;
  for (int i = 0; i < 150; ++i) wide += "\xc3\xa9";
  EXPECT_EQ(said("x" + wide), "busbar: x" + wide.substr(0, 198) + "...\n");
}

TEST(Streams, ColumnsOfTheTerminalCanBeAskedFor) {
  setenv("COLUMNS", "170", 1);
  EXPECT_EQ(text_options().columns, 170);
  for (const char* none : {"0", "39", "wide", "-5", ""}) {
    setenv("COLUMNS", none, 1);
    EXPECT_EQ(text_options().columns, 100) << none;
  }
  unsetenv("COLUMNS");
}

TEST(Streams, UtfEightIsKnownInAllItsSpellings) {
  for (const char* locale : {"C.utf8", "en_US.UTF-8", "de_DE.utf-8"}) {
    setenv("LC_ALL", locale, 1);
    EXPECT_TRUE(text_options().utf8) << locale;
  }
  setenv("LC_ALL", "C", 1);
  EXPECT_FALSE(text_options().utf8);
  unsetenv("LC_ALL");
}

}  // namespace
}  // namespace busbar::cli
