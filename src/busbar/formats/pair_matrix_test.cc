#include "busbar/formats/pair_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

TEST(PairMatrix, KeepsTheSizesOfAllPairs) {
  const PairMatrix m = parse_pair_matrix("src,dst,bytes\n0,1,3000\n2,0,1000\n2,1,6000\n", "m.csv", 3).value();
  EXPECT_EQ(m.busiest, Bytes{7000});
  const double chunk = 1000;  // the greatest common divisor
  for (const auto& [src, dst, bytes] : {std::tuple{0u, 1u, 3000.0}, {2u, 0u, 1000.0}, {2u, 1u, 6000.0}, {1u, 0u, 0.0}})
    EXPECT_EQ(m.counts.count(3, src, dst) * chunk, bytes) << src << " to " << dst;
}

TEST(PairMatrix, RoundsSizesWithoutCommonDivisorToAPartOfTheWhole) {
  const PairMatrix m = parse_pair_matrix("src,dst,bytes\n0,1,999999999989\n1,0,999999999961\n", "m.csv", 2).value();
  EXPECT_EQ(m.busiest, Bytes{999999999989});
  EXPECT_NEAR(m.counts.count(2, 0, 1), m.counts.count(2, 1, 0), 2);
  EXPECT_GT(m.counts.count(2, 0, 1), 1u << 29);
}

TEST(PairMatrix, RefusesInvalidRowsWithTheirLine) {
  const auto error = [](const char* text, std::uint32_t ranks = 4) {
    return parse_pair_matrix(text, "m.csv", ranks).error().text();
  };
  EXPECT_THAT(error("src,dst\n0,1\n"), HasSubstr("m.csv:1: there is no column 'bytes'"));
  EXPECT_THAT(error("src,dst,bytes\n0,4,1\n"), HasSubstr("m.csv:2: dst: '4' is not one of the ranks 0 to 3"));
  EXPECT_THAT(error("src,dst,bytes\n0,1,1\n0.5,1,1\n"), HasSubstr("m.csv:3: src: '0.5' is not one of"));
  EXPECT_THAT(error("src,dst,bytes\n0,1,-1\n"), HasSubstr("m.csv:2: bytes: '-1' is not a size"));
  EXPECT_THAT(error("src,dst,bytes\n0,1,many\n"), HasSubstr("m.csv:2: bytes"));
  EXPECT_THAT(error("src,dst,bytes\n0,1,1\n0,1,2\n"), HasSubstr("m.csv:3: src: the pair 0 to 1 stands above already"));
  EXPECT_THAT(error("src,dst,bytes\n0,1,0\n"), HasSubstr("no pair exchanges anything"));
  EXPECT_THAT(error("src,dst,bytes\n0,1,1\n", 5000), HasSubstr("at most 4096"));
}

}  // namespace
}  // namespace busbar::formats
