#include "busbar/base/shell_line.h"

#include <gtest/gtest.h>

namespace busbar {
namespace {

TEST(ShellLine, WordsThatAShellWouldChangeAreQuoted) {
  EXPECT_EQ(shell_word("fabric.link.rate=400Gb/s"), "fabric.link.rate=400Gb/s");
  EXPECT_EQ(shell_word("node3.nic*=0.5"), "'node3.nic*=0.5'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ShellLine, DefaultsAreLeftOut) {
  ShellLine line("busbar");
  line.add("--engine", "flow", "flow");
  line.add("--gpu", "");
  line.add("--tp", 8);
  line.add_all("--set", {"a=1", "b=x y"});
  EXPECT_EQ(line.text(), "busbar --tp 8 --set a=1 --set 'b=x y'");
}

}  // namespace
}  // namespace busbar
