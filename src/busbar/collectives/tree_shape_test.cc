#include "busbar/collectives/tree_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace busbar::collectives {
namespace {

std::vector<std::uint32_t> children(std::uint32_t n, std::uint32_t node) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 1; i < n; ++i)
    if (tree_parent(n, i) == node) out.push_back(i);
  return out;
}

/// Positions with at least one child, without the root.
std::set<std::uint32_t> inner(std::uint32_t n, std::uint8_t tree, std::uint32_t root) {
  std::set<std::uint32_t> out;
  for (std::uint32_t i = 1; i < n; ++i)
    if (!children(n, i).empty()) out.insert(tree_position(n, tree, root, i));
  return out;
}

TEST(TreeShape, OfFourteenNodesIsThePublishedOne) {
  EXPECT_EQ(children(14, 0), (std::vector<std::uint32_t>{8}));
  EXPECT_EQ(children(14, 8), (std::vector<std::uint32_t>{4, 12}));
  EXPECT_EQ(children(14, 4), (std::vector<std::uint32_t>{2, 6}));
  EXPECT_EQ(children(14, 12), (std::vector<std::uint32_t>{10, 13}));
  for (std::uint32_t i = 1; i < 14; i += 2) EXPECT_TRUE(children(14, i).empty()) << i;
}

TEST(TreeShape, IsBinaryAndAsLowAsPossible) {
  for (std::uint32_t n = 2; n <= 300; ++n) {
    std::uint32_t deepest = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      EXPECT_LE(children(n, i).size(), i == 0 ? 1u : 2u) << n << " " << i;
      std::uint32_t depth = 0;
      for (std::uint32_t up = i; up != 0; up = tree_parent(n, up)) ++depth;
      deepest = std::max(deepest, depth);
    }
    EXPECT_EQ(deepest, tree_height(n)) << n;
  }
}

TEST(TreeShape, PutsEveryPositionAtOneNode) {
  for (std::uint32_t n = 1; n <= 40; ++n)
    for (std::uint8_t tree = 0; tree < 3; ++tree)
      for (std::uint32_t root = 0; root < n; ++root) {
        std::set<std::uint32_t> positions;
        for (std::uint32_t i = 0; i < n; ++i) positions.insert(tree_position(n, tree, root, i));
        EXPECT_EQ(positions.size(), n);
        EXPECT_EQ(*positions.rbegin(), n - 1);
        EXPECT_EQ(tree_position(n, tree, root, 0), root);
      }
}

TEST(TreeShape, HasMatesThatAreInnerElsewhere) {
  for (std::uint32_t n = 2; n <= 200; ++n)
    for (const auto& [tree, first_root, second_root] :
         {std::tuple{std::uint8_t{1}, 0u, mate_root(n)}, std::tuple{std::uint8_t{2}, n / 3, n / 3}}) {
      const auto a = inner(n, 0, first_root), b = inner(n, tree, second_root);
      std::vector<std::uint32_t> both;
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
      EXPECT_TRUE(both.empty()) << "n " << n << " tree " << int{tree} << " position " << both.front();
    }
}

TEST(TreeShape, HasTheMirrorOrTheShiftAsMate) {
  for (std::uint32_t n = 2; n <= 40; ++n)
    for (std::uint32_t i = 0; i < n; ++i)
      EXPECT_EQ(tree_position(n, 1, mate_root(n), i), n % 2 == 0 ? n - 1 - i : (i + 1) % n);
}

}  // namespace
}  // namespace busbar::collectives
