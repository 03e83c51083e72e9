// The nodes of a tree phase. Its shape is computed (tree_shape.h) or given (Schedule::trees).
#pragma once

#include <cstdint>

#include "busbar/collectives/schedule.h"
#include "busbar/collectives/tree_shape.h"

namespace busbar::collectives {

/// Node 0 is the root. Cost: O(1) except depth for computed shapes; for given trees as noted.
class TreeNodes {
 public:
  TreeNodes(const Schedule& schedule, const Phase& phase, std::uint32_t n)
      : n_(n), phase_(phase), given_(phase.given == 0 ? nullptr : &schedule.trees[phase.given - 1]) {}

  std::uint32_t parent(std::uint32_t i) const { return given_ ? given_->parent[i] : tree_parent(n_, i); }
  /// Position in the group of node `i`.
  std::uint32_t position(std::uint32_t i) const {
    return given_ ? given_->position[i] : tree_position(n_, phase_.tree, phase_.root, i);
  }
  /// Edges between node `i` and the root. O(depth).
  std::uint32_t depth(std::uint32_t i) const {
    std::uint32_t depth = 0;
    for (; i != 0; i = parent(i)) ++depth;
    return depth;
  }
  /// Depth of the deepest node. Given: O(nodes x depth).
  std::uint32_t height() const {
    if (!given_) return tree_height(n_);
    std::uint32_t most = 0;
    for (std::uint32_t i = 1; i < n_; ++i) most = depth(i) > most ? depth(i) : most;
    return most;
  }
  /// Given: O(nodes).
  bool is_leaf(std::uint32_t i) const {
    if (!given_) return i % 2 == 1;
    for (std::uint32_t k = i + 1; k < n_; ++k)
      if (given_->parent[k] == i) return false;
    return true;
  }
  /// Whether no node below `i` has the same parent. Given: O(nodes).
  bool is_first_child(std::uint32_t i) const {
    if (!given_) return parent(i) == 0 || i < parent(i);
    for (std::uint32_t k = 1; k < i; ++k)
      if (given_->parent[k] == given_->parent[i]) return false;
    return true;
  }
  /// Calls f(node) for all nodes but the root, children before parents (`up`) or after them.
  template <class F>
  void for_each(bool up, F&& f) const {
    if (given_) {
      for (std::uint32_t i = 1; i < n_; ++i) f(up ? n_ - i : i);
      return;
    }
    // A parent has a higher lowest set bit than its children, so levels of this bit are a topological order.
    const std::uint64_t top = std::bit_floor(n_ - 1);
    for (std::uint64_t k = 1; k <= top; k *= 2) {
      const std::uint64_t bit = up ? k : top / k;
      for (std::uint64_t node = bit; node < n_; node += 2 * bit) f(static_cast<std::uint32_t>(node));
    }
  }

 private:
  std::uint32_t n_;
  const Phase& phase_;
  const GivenTree* given_;
};

}  // namespace busbar::collectives
