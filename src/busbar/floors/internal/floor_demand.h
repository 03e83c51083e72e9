// What a collective must carry across a cut, whatever the schedule.
#pragma once

#include <vector>

#include "busbar/program/program.h"

namespace busbar {

/// Parts of S that must leave a set of ranks, and that must enter it.
struct Demand {
  double out = 0, in = 0;
};

class FloorDemand {
 public:
  explicit FloorDemand(const CollectiveCall& call);
  /// `inside`: members, each once.
  Demand across(const std::vector<std::uint32_t>& inside) const;
  /// Where every rank counts alike.
  Demand across(double inside, bool root_inside) const;
  /// Parts of S that the memory of a rank moves: reads of what leaves it, or of all it has where that is added up, and
  /// writes of what enters it.
  double through_memory(std::uint32_t member) const;
  bool uneven() const { return uneven_; }

 private:
  Collective op_;
  double n_;
  std::uint32_t root_;
  bool uneven_ = false;  ///< an all-to-all-v whose pairs differ
  const PairCounts* pairs_ = nullptr;
  double parts_ = 1;                     ///< of S, of the rank that sends most
  std::vector<double> sent_, received_;  ///< parts, per rank
};

}  // namespace busbar
