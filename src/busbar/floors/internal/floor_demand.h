// The bytes that a collective must carry across a cut, whatever the schedule.
#pragma once

#include <vector>

#include "busbar/floors/cut_demand.h"
#include "busbar/program/program.h"

namespace busbar::floors {

class FloorDemand {
 public:
  explicit FloorDemand(const program::CollectiveCall& call);
  /// `inside`: members, each once.
  Demand across(const std::vector<std::uint32_t>& inside) const;
  /// The same if all ranks are equivalent.
  Demand across(double inside, bool root_inside) const;
  /// Parts of S that the memory of a rank moves: reads of the data that leave it, or of all its data if they are added,
  /// and writes of the data that enter it.
  double through_memory(std::uint32_t member) const;
  bool uneven() const { return uneven_; }

 private:
  collectives::Collective op_;
  double n_;
  std::uint32_t root_;
  bool uneven_ = false;  ///< an all-to-all-v whose pairs differ
  const collectives::PairCounts* pairs_ = nullptr;
  double parts_ = 1;                     ///< of S, of the rank that sends most
  std::vector<double> sent_, received_;  ///< parts of S, per rank
};

}  // namespace busbar::floors
