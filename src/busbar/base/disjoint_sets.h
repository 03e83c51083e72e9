// Sets of the numbers 0 to n - 1 that only ever join; the least number of a set stands for it.
//
// Source: Tarjan & van Leeuwen, Worst-case Analysis of Set Union Algorithms, JACM 31 (1984): path halving.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace busbar {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  /// How many numbers are in the set of `i`. Cost: linear in n.
  std::uint32_t members(std::uint32_t i) {
    std::uint32_t n = 0;
    for (std::uint32_t k = 0; k < parent_.size(); ++k) n += find(k) == find(i);
    return n;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(parent_.size()); }  ///< n

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace busbar
