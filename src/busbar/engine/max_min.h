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
/// Cost:    O((nnz + L) log L); no allocation after the first call of a given size.
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
  std::vector<std::uint32_t> begin_{0}, link_, fluid_begin_, fluid_of_;
  std::vector<double> weight_, cap_, rate_, residual_, open_weight_;
  std::vector<std::uint32_t> open_;
  std::vector<Entry> heap_;
  std::uint32_t fixed_ = 0;  ///< fluids whose rate is known
};

}  // namespace busbar
