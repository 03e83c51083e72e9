// The binary trees of the double-tree algorithms, by arithmetic: no tree is ever stored.
//
// A tree of n nodes has node 0 as its root with one child, the highest power of two below n; a node whose lowest set
// bit is b has the children i - b/2 and i + b/2 (or the nearest below that exists), so odd nodes are leaves.
// Trees differ only in which position of the group stands at which node:
//   0  position = root + node: rooted at `root`
//   1  the mate of tree 0 in an all-reduce, inner where 0 has leaves: mirrored when n is even, shifted by one when n is
//      odd; `root` is where that lands, mate_root(n)
//   2  the mate of tree 0 with the same root, for broadcasts: the other n - 1 nodes mirrored when n is odd, shifted by
//      one when n is even
// Source: the shape NCCL builds between nodes (src/graph/trees.cc); the idea of two trees that are inner on disjoint
// nodes is Sanders, Speck, Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.
#pragma once

#include <bit>
#include <cstdint>

namespace busbar::collectives {

/// Parent of node `i` > 0 in a tree of `n` nodes. It always has a higher lowest set bit than `i`, or is 0.
constexpr std::uint32_t tree_parent(std::uint32_t n, std::uint32_t i) {
  const std::uint32_t b = i & (~i + 1);
  const std::uint64_t up = (i ^ b) | (std::uint64_t{b} << 1);
  return up < n ? static_cast<std::uint32_t>(up) : i ^ b;
}

/// Depth of the deepest node: ceil(log2 n), down the left edge from the highest power of two below n to node 1.
constexpr std::uint32_t tree_height(std::uint32_t n) { return n <= 1 ? 0 : std::bit_width(n - 1); }

/// Root of tree 1 if tree 0 has root 0.
constexpr std::uint32_t mate_root(std::uint32_t n) { return n <= 1 ? 0 : n % 2 == 0 ? n - 1 : 1; }

/// Position in the group of node `i`; see the list above.
constexpr std::uint32_t tree_position(std::uint32_t n, std::uint8_t tree, std::uint32_t root, std::uint32_t i) {
  std::uint32_t step = i;
  if (tree == 1 && n % 2 == 0) step = i == 0 ? 0 : n - i;
  if (tree == 2 && i != 0) step = n % 2 == 1 ? n - i : i % (n - 1) + 1;
  const std::uint64_t p = std::uint64_t{root} + step;
  return static_cast<std::uint32_t>(p < n ? p : p - n);
}

}  // namespace busbar::collectives
