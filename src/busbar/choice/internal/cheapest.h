// The cheapest ring over ranks for given prices of ordered pairs, and rooted trees from neighbour lists.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar::choice {

class PairPrices {
 public:
  PairPrices(std::uint32_t ranks, double price) : ranks_(ranks), price_(std::size_t{ranks} * ranks, price) {}
  std::uint32_t ranks() const { return ranks_; }
  double& at(std::uint32_t from, std::uint32_t to) { return price_[std::size_t{from} * ranks_ + to]; }
  double at(std::uint32_t from, std::uint32_t to) const { return price_[std::size_t{from} * ranks_ + to]; }

 private:
  std::uint32_t ranks_;
  std::vector<double> price_;
};

/// The order of ranks around the cheapest ring, starting with start[0]. Exact for up to 9 ranks. For more ranks, moving
/// any run of up to three ranks to another place makes the ring no cheaper. Source: Held, Karp, "A dynamic programming
/// approach to sequencing problems", J. SIAM 10(1), 1962.
std::vector<std::uint32_t> cheapest_ring(const PairPrices& prices, const std::vector<std::uint32_t>& start);

/// The tree with these neighbours of each rank, rooted at `root`, or at its centre for the fewest rounds. The result
/// does not depend on the order of neighbours.
collectives::GivenTree rooted_at(std::vector<std::vector<std::uint32_t>> near, std::uint32_t root);
collectives::GivenTree rooted_at_centre(std::vector<std::vector<std::uint32_t>> near);

}  // namespace busbar::choice
