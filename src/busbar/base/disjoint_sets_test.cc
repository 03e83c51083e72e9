#include "busbar/base/disjoint_sets.h"

#include <gtest/gtest.h>

#include "busbar/base/random.h"

namespace busbar {
namespace {

/// Against labels that every join rewrites.
TEST(DisjointSets, TheLeastNumberStandsForItsSet) {
  RandomStream random(1, "joins");
  for (int round = 0; round < 50; ++round) {
    constexpr std::uint32_t kNumbers = 24;
    DisjointSets sets(kNumbers);
    std::vector<std::uint32_t> label(kNumbers);
    std::iota(label.begin(), label.end(), 0u);
    for (int joins = 0; joins < 16; ++joins) {
      const auto a = static_cast<std::uint32_t>(random.below(kNumbers));
      const auto b = static_cast<std::uint32_t>(random.below(kNumbers));
      sets.join(a, b);
      const std::uint32_t low = std::min(label[a], label[b]), high = std::max(label[a], label[b]);
      std::replace(label.begin(), label.end(), high, low);
    }
    for (std::uint32_t i = 0; i < kNumbers; ++i) {
      EXPECT_EQ(sets.find(i), label[i]);
      EXPECT_EQ(sets.members(i), std::count(label.begin(), label.end(), label[i]));
    }
  }
}

}  // namespace
}  // namespace busbar
