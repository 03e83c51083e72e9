// Max-min fair rates by progressive filling, with weights and caps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace busbar {

/// Rates of F fluids over L links.
///
/// Shapes:  add_fluid() F times, each with its (link, weight) run; `capacity` has L entries; rates() has F.
/// Units:   any rate unit, the same for capacity, caps and result; weights are pure numbers.
/// Pre:     links < L; weights > 0; caps > 0 (infinity for none); no link twice in one fluid.
/// Result:  sum of weight x rate <= capacity on every link; every fluid is at its cap or crosses a saturated link on
///          which no other fluid has a higher rate.
/// Source:  Bertsekas & Gallager, Data Networks (2nd ed.), section 6.5.2, with weights.
/// Cost:    O(nnz + L), and O(nnz' log L') for the links that can be full at all; no allocation after the first call of
///          a given size.
/// Order:   ties go to the lowest link, so equal inputs give bit-equal outputs.
class MaxMinSolver {
 public:
  void clear();
  void add_fluid(std::span<const std::uint32_t> links, std::span<const double> weights, double cap);
  void solve(std::span<const double> capacity);
  std::span<const double> rates() const { return rate_; }

 private:
  struct Entry {
    double level;
    std::uint32_t item;  ///< link, or links + fluid for a cap
  };
  void fix(std::uint32_t fluid, double rate);
  void find_narrow_links(std::span<const double> capacity);
  void index_narrow_links(std::span<const double> capacity);
  std::vector<std::uint32_t> begin_{0}, link_;
  std::vector<double> weight_, cap_, rate_;
  std::vector<double> demand_;                  ///< per link
  std::vector<std::uint32_t> crossed_;          ///< per link: fluids that cross it, 0 where it is not narrow
  std::vector<std::uint32_t> place_;            ///< per narrow link: its place among them, ascending
  std::vector<double> residual_, open_weight_;  ///< per place
  std::vector<std::uint32_t> open_, fluid_begin_, fluid_of_, next_;  ///< per place; fluid_of_ in runs
  std::vector<std::uint32_t> cross_begin_, cross_;                   ///< per fluid its places
  std::vector<double> cross_weight_;                                 ///< beside cross_
  std::vector<Entry> heap_;
  std::uint32_t fixed_ = 0;  ///< fluids whose rate is known
};

}  // namespace busbar
