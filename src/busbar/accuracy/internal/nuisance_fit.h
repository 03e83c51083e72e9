// How well measured times agree with predicted ones, when the machine may differ a little from its description.
#pragma once

#include <span>
#include <vector>

namespace busbar::accuracy {

/// An unknown that is no fault: it shifts the logarithm of each time by `slope` x value, with the value in [low, high].
struct Nuisance {
  std::vector<double> slope;  ///< per size
  double low = 0, high = 0;
  double width = 0;  ///< standard deviation of the value around 0; 0: all values in the range are equally likely
};

/// The least sum over sizes of ((error - sum of nuisances) / noise)^2, and over nuisances of (value / width)^2, for
/// values in their ranges.
/// `error`: logarithm of measured / predicted time; all per size. Solved by coordinates in order; deterministic.
double least_squares(std::span<const double> error, std::span<const double> noise, std::span<const Nuisance> nuisances);

}  // namespace busbar::accuracy
