// Hashed flows between all pairs of two classes of members, walked one by one on several threads. Private to routing.
#pragma once

#include <cmath>

#include "busbar/routing/internal/pair_spread_state.h"

namespace busbar::routing {

/// What one thread needs to walk flows. Flows of equal share are counted as whole numbers, so loads do not depend on
/// which thread walked which flow.
struct PairSpread::State::Walker {
  std::vector<PairWalk> walks;                    ///< per lane
  std::vector<std::uint32_t> aimed;               ///< per lane: the attachment that the walk leads to
  std::vector<std::vector<std::uint32_t>> flows;  ///< per share and link
  std::vector<double> least_ps;                   ///< per link: of its flows; infinite if it has none
  std::vector<topology::LinkId> touched, steps;
};

class PairSpread::State::HashedPairs {
 public:
  HashedPairs(State& state, const PairEnds& ends) : state_(state), ends_(ends) {}
  /// Pairs of two classes, at least one lane of which is hashed. False: there is no way.
  bool add(std::uint32_t source, std::uint32_t sink);
  /// Adds the loads of all flows to those of the state.
  void finish();

 private:
  /// Where the flows of a lane enter the fabric, with this share of each pair.
  struct Start {
    std::uint32_t lane, at, share;
    double part;
  };
  struct Task {
    std::uint32_t source, sink;
    std::size_t first, end;  ///< its range in starts_
    double fixed_ps;         ///< the latency of the known parts of the ways
    double low = INFINITY, high = 0;
  };
  std::uint32_t share_number(double share);
  void walk_all();
  void walk(Task& task, Walker& walker) const;
  void aim(const Task& task, Walker& walker) const;
  void prepare(Walker& walker) const;

  State& state_;
  const PairEnds& ends_;
  std::vector<double> shares_;
  std::vector<Start> starts_;
  std::vector<Task> tasks_;
  double flows_ = 0;
};

}  // namespace busbar::routing
