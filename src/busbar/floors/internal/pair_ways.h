// What all ways between pairs of places cost together. Private to floors.
#pragma once

#include <cstdint>
#include <vector>

namespace busbar::floors {

/// Places that exchange data pair by pair over directed links, and the least time that takes.
///
/// Give every link a length, whatever it is. A byte from a to b uses at least the distance of a and b in lengths; in
/// the time T the links carry at most T x sum(rate x length). So T >= sum(bytes x distance) / sum(rate x length). The
/// best lengths give the largest throughput of all pairs at once (the dual of the maximum concurrent flow); any others
/// give less and are right as well. Source: Shahrokhi & Matula, "The maximum concurrent flow problem", JACM 37(2),
/// 1990, theorem 2.1. The search makes the links longer that the shortest ways of a round load most, as Garg &
/// Koenemann do ("Faster and simpler algorithms for multicommodity flow", SIAM J. Comput. 37(2), 2007). Deterministic.
class PairWays {
 public:
  /// Number of members at each place: each sends one part to each other member.
  explicit PairWays(std::vector<double> members) : members_(std::move(members)), out_(members_.size()) {}
  /// Parts per unit of time. Returns the number of the link: 0, 1, 2, ...
  std::uint32_t join(std::uint32_t from, std::uint32_t to, double rate);

  /// Visits of links and places that one round takes.
  std::size_t visits() const;
  /// The largest bound found in `rounds`, in units of time. Stops once no bound can exceed `enough`, or be 1 % above
  /// the one found. 0: a pair is not joined.
  double bound(std::size_t rounds, double enough);
  /// Share of the links in the bound: rate x length, all together 1.
  const std::vector<double>& shares() const { return shares_; }

 private:
  struct Link {
    std::uint32_t from = 0, to = 0;
    double rate = 0;
  };
  void find_ways(std::uint32_t start);
  double load_ways(std::uint32_t start);
  double round();

  std::vector<double> members_;
  std::vector<Link> links_;
  std::vector<std::vector<std::uint32_t>> out_;
  std::vector<double> length_, shares_;
  std::vector<double> load_, loads_;      ///< per link: of this round, and of all rounds
  std::vector<double> distance_, below_;  ///< per place: from the start, and parts that go there or further
  std::vector<std::uint32_t> way_;        ///< per place: the last link from the start
  std::vector<std::uint32_t> order_;      ///< places by distance
};

}  // namespace busbar::floors
