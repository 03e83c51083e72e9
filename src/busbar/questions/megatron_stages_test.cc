#include <gtest/gtest.h>

#include <vector>

#include "busbar/questions/internal/megatron_stages.h"

namespace busbar::questions {
namespace {

using Counts = std::vector<std::uint32_t>;

TEST(MegatronStages, AreReadAsThePublishedOnesAre) {
  // DeepSeek-V3 over 16 stages of 2 chunks: 61 layers, the layer that predicts further tokens and the head at the end.
  Counts deepseek(32, 2);
  deepseek[0] = 3;
  deepseek[30] = deepseek[31] = 0;
  const auto words = read_stage_words("Et*3|(tt|)*29,m|L");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->layers, deepseek);
  EXPECT_FALSE(words->usual_ends);
  const auto ends = read_stage_words("Et*2|(tt|)*22t|(tt|)*7mL");
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->layers.size(), 32u);
  EXPECT_TRUE(ends->usual_ends);
  EXPECT_EQ(read_stage_words("Et|(tt|)*2L")->layers, (Counts{1, 2, 2, 0}));
  EXPECT_EQ(read_stage_words("Et\\*5\\|t\\*4L|")->layers, (Counts{5, 4}));
}

TEST(MegatronStages, WrittenAreReadBack) {
  for (const Counts& counts : {Counts{8}, Counts{5, 5, 6, 4}, Counts{0, 1, 2, 0}}) {
    for (const std::uint32_t mtp : {0u, 1u, 2u}) {
      const auto words = read_stage_words(stage_words(counts, mtp));
      ASSERT_TRUE(words);
      EXPECT_EQ(words->layers, counts);
      EXPECT_TRUE(words->usual_ends);
    }
  }
  EXPECT_EQ(stage_words(Counts{3, 1, 0}, 1), "Et*3|t|mL");
}

TEST(MegatronStages, OtherWordsAreNone) {
  for (const char* text : {"", "x", "E(t", "Et)", "t*", "t*0", "t*99999", "((t*9999)*9999)*9999", "((((((((((t))))))))))",
                           "[['embedding']]", "(t|*2"})
    EXPECT_FALSE(read_stage_words(text)) << text;
}

}  // namespace
}  // namespace busbar::questions
