// docs/tutorials/add-an-algorithm.md shows code of this room. This test compares it with the compiled code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/chain.h"
#include "busbar/collectives/verify.h"

namespace busbar::collectives {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path << ": run the test from the top of the source tree";
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Tutorial, BuildsAndProvesTheAlgorithmItAdds) {
  ScheduleSpec spec;
  spec.algorithm = "halving_doubling";
  spec.op = Collective::kReduceScatter;
  spec.ranks = 6;
  const Schedule s = build_schedule(spec).value();
  EXPECT_TRUE(verify(s).ok());

  std::vector<Move> moves;
  for_each_move(s, s.phases[0], 0, [&](const Move& m) { moves.push_back(m); });
  EXPECT_EQ(describe(moves[0]), "0 -> 3, chunks [3, 6), input -> scratch, added to input");

  ChainScratch scratch;
  const PhaseRun run = phase_runs(s)[0];
  const auto one_per_piece = [](std::uint32_t, std::uint32_t) { return SendCost{.latency_ps = 10, .transfer_ps = 1}; };
  EXPECT_EQ(longest_chain(s, run, 0, one_per_piece, scratch), (10 + 3) + (10 + 2) + (10 + 1));
}

/// Checks the code blocks whose first line has three backquotes, a language and a path.
TEST(Tutorial, ShowsTheFilesAsTheyAre) {
  std::stringstream in(text_of("docs/tutorials/add-an-algorithm.md"));
  std::map<std::string, int> shown;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("```")) continue;
    std::string word, path, block;
    std::stringstream(line.substr(3)) >> word >> path;
    while (std::getline(in, line) && line != "```") block += line + "\n";
    if (path.empty()) continue;
    EXPECT_THAT(text_of(path), ::testing::HasSubstr(block)) << path << " no longer holds what the tutorial shows";
    ++shown[path];
  }
  EXPECT_EQ(shown["src/busbar/collectives/halving_doubling.cc"], 1);
  EXPECT_GE(shown.size(), 6u);
}

}  // namespace
}  // namespace busbar::collectives
