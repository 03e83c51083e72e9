#include "busbar/formats/launch_script.h"

#include <gtest/gtest.h>

namespace busbar::formats {
namespace {

/// The words of the last command, with what is not known in brackets.
std::string last_command(const std::string& script) {
  const auto commands = read_launch_script(script, "job.sh");
  if (!commands.ok()) return commands.error().text();
  std::string out;
  if (commands->empty()) return out;
  for (const ScriptWord& w : commands->back()) {
    out += (out.empty() ? "" : "|") + w.text;
    if (!w.unknown.empty()) out += "[" + w.unknown + "]";
    if (w.condition > 0) out += "?" + std::to_string(w.condition);
  }
  return out;
}

TEST(LaunchScript, VariablesListsAndContinuedLinesBecomeWords) {
  EXPECT_EQ(last_command("TP=8\nARGS=(\n  --tp $TP  # degree\n  # --pp 4\n)\ntorchrun \\\n  ${ARGS[@]} --x=\"$TP\""),
            "torchrun|--tp|8|--x=8");
  EXPECT_EQ(last_command("A=\"--x 1 \\\n  --y '2'\"\nA+=\" --z\"\nexport N=$((2 * ${M:-3}))\nrun $A \"$A\" $N"),
            "run|--x|1|--y|'2'|--z|--x 1   --y '2' --z|[$((2 * ${M:-3}))]");
  EXPECT_EQ(last_command("N=4\nM=${N:-2}\nrun ${K:-\"a b\"} $((N*(M+1))) '$N'"), "run|a|b|20|$N");
  EXPECT_EQ(last_command("run 'a b' c\\ d"), "run|a b|c d");
}

TEST(LaunchScript, AFileOfFlagsIsOneCommand) {
  EXPECT_EQ(last_command("--tp 8\n--pp 4\n\n# end\n--bf16\n"), "--tp|8|--pp|4|--bf16");
}

TEST(LaunchScript, WhatTheScriptDoesNotDecideIsMarked) {
  EXPECT_EQ(last_command("run $TP \"$@\" $(nproc) `pwd` ${A#x}"), "run|[$TP]|[$@]|[$(nproc)]|[`pwd`]|[${A#x}]");
}

TEST(LaunchScript, ConditionsAreDecidedWhereBothSidesAreKnown) {
  EXPECT_EQ(
      last_command("D=fp8\nA=()\nif [[ \"$D\" == \"fp8\" ]]; then\nA+=(--fp8)\nelse\nA+=(--bf16)\nfi\nrun ${A[@]}"),
      "run|--fp8");
  EXPECT_EQ(last_command("N=2\nif [ $N -gt 4 ]; then\nA=a\nelif [ $N -eq 2 ]; then A=b\nelse\nA=c\nfi\nrun $A"),
            "run|b");
  EXPECT_EQ(last_command("A=(-x)\nif [ -n \"$KEY\" ]\nthen\n  A+=(-y)\nfi\nrun \"${A[@]}\""), "run|-x|-y?2");
  EXPECT_EQ(last_command("A=1\nfor i in 1 2; do\nA=$i\ndone\nrun $A"), "run|[$A]?2");
  EXPECT_EQ(last_command("if [ -f x ]\nthen A=(-x -y)\nfi\nrun ${A[@]}"), "run|-x?1|-y?1");
  EXPECT_EQ(last_command("M=\n[ -z \"$M\" ] && M=3\nrun $M"), "run|3");
}

TEST(LaunchScript, DocumentsInTheScriptAreNoCommands) {
  EXPECT_EQ(last_command("cat <<EOF > f\nit's --here\nEOF\nrun --x"), "run|--x");
}

TEST(LaunchScript, WhatDoesNotEndIsRefusedAtItsLine) {
  EXPECT_EQ(last_command("a\nrun 'x"), "job.sh:2: a quote ' does not end");
  EXPECT_EQ(last_command("run \"x"), "job.sh:1: a quote \" does not end");
  EXPECT_EQ(last_command("A=(x"), "job.sh:1: the list A does not end");
  EXPECT_EQ(last_command("run ${A"), "job.sh:1: a '{' does not end");
  std::string doubles = "A=0123456789\n";
  for (int i = 0; i < 40; ++i) doubles += "A=$A$A\n";
  EXPECT_NE(last_command(doubles).find("more than 4 MB"), std::string::npos);
  EXPECT_EQ(last_command(""), "");
}

}  // namespace
}  // namespace busbar::formats
