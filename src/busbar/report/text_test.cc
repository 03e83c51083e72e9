#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "busbar/report/demo/sample.h"
#include "busbar/report/document.h"
#include "busbar/report/plain.h"

namespace busbar::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Document small() {
  Document d{"One step", "busbar train step.yaml", {}};
  const auto add = [&](BlockElement e) { d.blocks.push_back({std::move(e), Audience::kBoth}); };
  add(Highlight{"A step takes 4 s and is bound by the link from leaf3 to spine1 in the data-parallel phase."});
  add(Facts{"Result", {{"step time", "4.00 s"}, {"MFU", "41 %"}}});
  add(Bars{"Where time goes", "s", {{"TP 8", {{"compute", 3, 0}, {"exposed DP", 1, 2}}}}});
  add(Table{"Levels",
            {{"level", Align::kLeft}, {"rate (GB/s per direction)"}},
            {{"NVLink", "450"}, {"NIC", "50.0"}},
            "Payload."});
  add(TimelineView{"One GPU",
                   "",
                   0,
                   4,
                   {{"rank 0", "compute", {{0, 3, 0, ""}}}, {"rank 0", "network", {{2, 2, 2, ""}}}},
                   {{"compute", 0}, {"DP", 2}}});
  add(Drawing{"The fabric", "Spines over leaves", 10, 10, {}});
  return d;
}

std::string same_but_first_newline(const char* text) { return text + 1; }

TEST(Text, WhatElseIsSaidOfAPartFollowsItsShare) {
  Bars bars{"b", "s", {{"x", {{"p", 3, 0, "-2.50 s"}, {"q", 1, 1}}}}};
  bars.more = "if free";
  Document d;
  d.add(bars);
  const std::string text = render_text(d, {80, false, false});
  EXPECT_THAT(text, HasSubstr("p 3.00 s (75.0 %), if free -2.50 s   "));
  EXPECT_THAT(text, HasSubstr("q 1.00 s (25.0 %)\n"));
}

TEST(Text, AsciiAtSixtyColumns) {
  EXPECT_EQ(render_text(small(), {60, false, false}), same_but_first_newline(R"(
One step
$ busbar train step.yaml

==> A step takes 4 s and is bound by the link from leaf3 to
    spine1 in the data-parallel phase.

Result
  step time  4.00 s
  MFU        41 %

Where time goes
  TP 8  #################################%%%%%%%%%%%  4.00 s
        0          1          2          3        4 s
  # compute 3.00 s (75.0 %)   % exposed DP 1.00 s (25.0 %)

Levels
level   rate (GB/s per direction)
------  -------------------------
NVLink                        450
NIC                          50.0
  Payload.

One GPU
  rank 0
    compute |###################################           |
    network |                       %%%%%%%%%%%%%%%%%%%%%%%|
             0          1           2          3         4 s
  # compute   % DP

Drawing: The fabric. Spines over leaves. Shown in the HTML
report.
)"));
}

TEST(Text, Utf8AtAHundredColumns) {
  EXPECT_EQ(render_text(small(), {100, false, true}), same_but_first_newline(R"(
One step
$ busbar train step.yaml

==> A step takes 4 s and is bound by the link from leaf3 to spine1 in the data-parallel phase.

Result
  step time  4.00 s
  MFU        41 %

Where time goes
  TP 8  ███████████████████████████████████████████████████████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  4.00 s
        0        0.5        1.0       1.5        2.0       2.5        3.0       3.5     4.0 s
  █ compute 3.00 s (75.0 %)   ▒ exposed DP 1.00 s (25.0 %)

Levels
level   rate (GB/s per direction)
──────  ─────────────────────────
NVLink                        450
NIC                          50.0
  Payload.

One GPU
  rank 0
    compute │█████████████████████████████████████████████████████████████████                     │
    network │                                           ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│
             0        0.5        1.0        1.5        2.0       2.5        3.0        3.5     4.0 s
  █ compute   ▒ DP

Drawing: The fabric. Spines over leaves. Shown in the HTML report.
)"));
}

/// Cells of the longest line, without escape sequences.
std::size_t widest(const std::string& text) {
  std::istringstream in(text);
  std::size_t out = 0;
  for (std::string line; std::getline(in, line);) {
    for (std::size_t at; (at = line.find('\x1b')) != std::string::npos;) line.erase(at, line.find('m', at) - at + 1);
    out = std::max(out, display_width(line));
  }
  return out;
}

TEST(Text, NoLineIsWiderThanTheTerminal) {
  for (const int columns : {40, 60, 80, 100, 132}) {
    for (const bool utf8 : {false, true}) {
      const std::string text = render_text(demo::training_step(), {columns, true, utf8});
      EXPECT_LE(widest(text), static_cast<std::size_t>(columns)) << text;
    }
  }
}

TEST(Text, TitlesOfFactsAreWrapped) {
  Document d;
  d.blocks.push_back({Facts{"[warn] NCCL_NET_GDR_LEVEL=PIX limits GPUDirect RDMA (gdr-level)", {{"fix", "unset"}}}});
  EXPECT_EQ(render_text(d, {40, false, false}),
            "[warn] NCCL_NET_GDR_LEVEL=PIX limits\nGPUDirect RDMA (gdr-level)\n  fix  unset\n");
}

TEST(Text, WithoutUtf8EveryByteIsAscii) {
  Document d = demo::training_step();
  d.blocks.push_back({Paragraph{"5 \xC2\xB5s \xE2\x86\x92 \xE6\xBC\xA2"}, Audience::kBoth});
  const std::string text = render_text(d, {80, false, false});
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

TEST(Text, ColourComesOnlyWhereItIsAskedFor) {
  EXPECT_THAT(render_text(small(), {80, false, true}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(render_text(small(), {80, true, true}), HasSubstr("\x1b[34m"));
}

TEST(Text, NoLineEndsInASpace) {
  EXPECT_THAT(render_text(demo::training_step(), {60, false, false}), Not(HasSubstr(" \n")));
  EXPECT_THAT(render_text(demo::training_step(), {100, false, true}), Not(HasSubstr(" \n")));
}

TEST(Text, AHostileStringCannotMoveTheCursor) {
  Document d = small();
  d.title = "\x1b[2J\x1b]0;x\x07";
  d.blocks.push_back({Table{"\x1b[1A",
                            {{"\r"}},
                            {{"\x9b"
                              "2J"}},
                            "\x08"},
                      Audience::kBoth});
  const std::string text = render_text(d, {80, false, true});
  EXPECT_TRUE(std::none_of(text.begin(), text.end(), [](char c) { return c != '\n' && c >= 0 && c < 0x20; }));
}

TEST(Text, ATableTooWideForTheTerminalBecomesAList) {
  Table t{"Wide", {}, {{}}, ""};
  for (int i = 0; i < 12; ++i) {
    t.columns.push_back({"column" + std::to_string(i)});
    t.rows[0].push_back("value" + std::to_string(i));
  }
  Document d{"", "", {{t, Audience::kBoth}}};
  const std::string text = render_text(d, {40, false, false});
  EXPECT_THAT(text, HasSubstr("- column0: value0\n  column1: value1\n"));
  EXPECT_LE(widest(text), 40u);
}

TEST(Text, TheCellsOfABarAddUpToItsLength) {
  const Bars bars{"", "s", {{"a", {{"p", 1, 0}, {"q", 1, 1}, {"r", 1, 2}}}, {"b", {{"p", 1.5, 0}, {"q", 1.5, 1}}}}};
  const std::string text = render_text({"", "", {{bars, Audience::kBoth}}}, {61, false, false});
  std::istringstream in(text);
  std::string a, b;
  std::getline(in, a);
  std::getline(in, b);
  const auto drawn = [](const std::string& s) {
    return std::count_if(s.begin(), s.end(), [](char c) { return c == '#' || c == '=' || c == '%'; });
  };
  EXPECT_EQ(drawn(a), drawn(b));
  EXPECT_GT(drawn(a), 30);
}

TEST(Text, LongHeadingsBecomeLettersBeforeATableBecomesAList) {
  Document d;
  Table t{"", {{"", Align::kLeft}}, {{"step (s)"}}, ""};
  for (const char* change : {"cluster.fabric=roce-400g-rail", "cluster.fabric=ndr-fat-tree-2-to-1"}) {
    t.columns.push_back({change});
    t.rows[0].push_back("1.25");
  }
  d.blocks.push_back({t});
  EXPECT_EQ(render_text(d, {50, false, false}), same_but_first_newline(R"(
             A     B
--------  ----  ----
step (s)  1.25  1.25
  A: cluster.fabric=roce-400g-rail; B:
  cluster.fabric=ndr-fat-tree-2-to-1.
)"));
}

TEST(Text, LastColumnsGoBeforeATableBecomesAList) {
  Document d;
  Table t{"", {}, {{}}, ""};
  for (const char* name : {"one", "two", "three", "four", "five", "six"}) {
    t.columns.push_back({name});
    t.rows[0].push_back(std::string(8, name[0]));
  }
  d.blocks.push_back({t});
  const std::string shown = render_text(d, {40, false, false});
  EXPECT_THAT(shown, HasSubstr("oooooooo  tttttttt  tttttttt  ffffffff\n"));
  EXPECT_THAT(shown, HasSubstr("No room for: five, six;"));
  for (const char* name : {"seven", "eight", "nine"}) {
    t.columns.push_back({name});
    t.rows[0].push_back("12345678");
  }
  d.blocks = {{t}};
  EXPECT_THAT(render_text(d, {40, false, false}), HasSubstr("- one: oooooooo\n"));
}

}  // namespace
}  // namespace busbar::report
