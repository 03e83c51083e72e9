// Max-min fair rates by progressive filling, with weights and caps.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "busbar/base/shortcuts.h"

namespace busbar::solve {

/// Rates of F fluids over L links.
///
/// Shapes:  add_fluid() F times, each with its (link, weight) run; `capacity` has L entries; rates() has F.
/// Units:   any rate unit, the same for capacity, caps and result; weights are pure numbers.
/// Pre:     links < L; weights > 0; caps > 0 (infinity for none); no link twice in one fluid.
/// Result:  sum of weight x rate <= capacity on every link; every fluid is at its cap or crosses a saturated link on
///          which no other fluid has a higher rate.
/// Source:  Bertsekas & Gallager, Data Networks (2nd ed.), section 6.5.2, with weights.
/// Cost:    linear in the incidences, and n log n in those of links that can affect a rate; independent of L.
///          No allocation after the first call of a given size.
/// Order:   ties go to the link added first, so equal inputs give bit-equal outputs.
class MaxMinSolver {
 public:
  explicit MaxMinSolver(Shortcuts shortcuts = {}) : shortcuts_(std::move(shortcuts)) {}
  void clear();
  void add_fluid(std::span<const std::uint32_t> links, std::span<const double> weights, double cap);
  void solve(std::span<const double> capacity);
  /// Removes a fluid after a solution: its rate is 0 from then on. solve_again() gives the others their new rates, over
  /// the links that could be full with all of them.
  void close(std::uint32_t fluid);
  /// All fluids are there again after solve().
  void reopen();
  void solve_again();
  std::span<const double> rates() const { return rate_; }
  /// Pairs of a fluid and a link of it that can be full; solve_again() costs that much. Call it after solve().
  std::size_t crossings() const { return cross_.size(); }

 private:
  struct Entry {
    double level;
    std::uint32_t row;
  };
  struct Link {
    double demand = 0;          ///< of all fluids, each at the rate of its cap or its narrowest link
    double weight = 0;          ///< of the first fluid
    std::uint32_t crossed = 0;  ///< fluids that cross it; 0 if it cannot affect a rate, and between calls
    std::uint32_t number = 0;   ///< number of the first fluid; later of the row
  };
  double most(std::uint32_t fluid, std::span<const double> capacity) const;
  void count_demand(std::span<const double> capacity);
  void drop_idle(std::span<const double> capacity);
  void make_rows(std::span<const double> capacity);
  bool same_row(std::uint32_t a, std::uint32_t b) const;
  void drop_in_series();
  void transpose_rows();
  void fill();
  void fix(std::uint32_t fluid, double rate);

  Shortcuts shortcuts_;  ///< kIdleLinks, kPrivateLinks, kLinksInSeries
  std::vector<std::uint32_t> begin_{0}, link_;
  std::vector<double> weight_, cap_, rate_;
  std::vector<Link> links_;             ///< per link
  std::vector<std::uint32_t> touched_;  ///< links by first fluid
  std::vector<double> narrowest_;       ///< per fluid: level of its narrowest link without other fluids
  std::vector<std::uint32_t> by_;       ///< that link
  // Rows of links that can be full, in the order of touched_.
  std::vector<double> row_capacity_, residual_, open_weight_, row_weight_;
  std::vector<std::uint32_t> open_, row_begin_, row_fluid_, next_;
  std::vector<std::uint64_t> row_hash_;
  std::vector<std::uint32_t> table_;        ///< hash table of row_hash_: 1 + row; 0: empty
  std::vector<std::uint32_t> cross_begin_;  ///< per fluid, into the next two
  std::vector<std::uint32_t> cross_;        ///< rows
  std::vector<double> cross_weight_;
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> live_;                 ///< fluids that are not closed
  std::vector<std::uint32_t> all_by_cap_, by_cap_;  ///< fluids with a cap, least first: all, and the live ones
  std::vector<bool> closed_;
  bool any_closed_ = false;  ///< since the last solve
  std::uint32_t fixed_ = 0;  ///< live fluids whose rate is known
};

}  // namespace busbar::solve
