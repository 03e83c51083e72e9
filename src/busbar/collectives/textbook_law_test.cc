#include "busbar/collectives/textbook_law.h"

#include <gtest/gtest.h>

#include "busbar/collectives/builders.h"

namespace busbar::collectives {
namespace {

TextbookLaw law_of(const char* algorithm, Collective op, std::uint32_t ranks, std::uint32_t channels = 1) {
  ScheduleSpec spec;
  spec.algorithm = algorithm;
  spec.op = op;
  spec.ranks = ranks;
  spec.channels = channels;
  return textbook_law(build_schedule(spec).value());
}

std::string formula_of(const TextbookLaw& law) {
  std::string out;
  for (const LawPiece& p : law.formula) out += p.text;
  return out;
}

TEST(TextbookLaw, CountsOfRingsAreThoseOfTheFormula) {
  for (const std::uint32_t n : {2u, 3u, 8u, 24u})
    for (const std::uint32_t channels : {1u, 4u}) {
      const TextbookLaw reduce = law_of("ring", Collective::kAllReduce, n, channels);
      EXPECT_EQ(reduce.sends, 2 * (n - 1)) << n;
      EXPECT_NEAR(reduce.share, 2.0 * (n - 1) / n, 1e-12) << n;
      EXPECT_EQ(formula_of(reduce), "2(n-1) (\u03b1 + S / (n B))");
      const TextbookLaw gather = law_of("ring", Collective::kAllGather, n, channels);
      EXPECT_EQ(gather.sends, n - 1) << n;
      EXPECT_EQ(formula_of(gather), "(n-1) (\u03b1 + S / (n B))");
    }
}

TEST(TextbookLaw, OtherSchedulesHaveTheirNumbers) {
  EXPECT_EQ(formula_of(law_of("direct", Collective::kAllReduce, 8)), "2 \u03b1 + 1.75 S / B");
  const TextbookLaw tree = law_of("tree", Collective::kAllReduce, 8, 2);
  EXPECT_EQ(tree.sends, 6);
  EXPECT_LE(tree.share, 2);
}

}  // namespace
}  // namespace busbar::collectives
