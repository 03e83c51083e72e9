// Axes: nice ticks, one unit for all values of a picture, and short numbers for coordinates.
#pragma once

#include <string>
#include <vector>

namespace busbar::report {

/// One unit and one number of decimals for all values of a picture, so that they are easy to compare. Seconds become
/// ms, us, ns or ps if the largest value is that small; other units stay.
class UnitScale {
 public:
  /// `largest` determines unit and decimals: it has `digits` significant digits.
  UnitScale(double largest, std::string unit, int digits = 3);
  /// "9.31"; a positive value that rounds to zero is "<0.01".
  std::string number(double value) const;
  std::string text(double value) const;  ///< "9.31 s"
  const std::string& unit() const { return unit_; }
  double factor() const { return factor_; }  ///< shown = value x factor

 private:
  std::string unit_;
  double factor_ = 1;
  int decimals_ = 0;
};

struct Tick {
  double value = 0;
  std::string label;  ///< without unit
};
/// About `wanted` ticks, at most 2 x wanted + 1, at multiples of 1, 2 or 5 times a power of ten in [low, high]. Labels
/// show `value x factor`. None for an empty or non-finite range.
std::vector<Tick> nice_ticks(double low, double high, int wanted, double factor = 1);

/// The smallest of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten that is at least `value`; 1 if `value` is no
/// finite positive number.
double nice_ceiling(double value);

/// "12.5", "3": at most two decimals, for SVG; "0" for non-finite values.
std::string coordinate(double value);

/// `value` if it is finite and positive, otherwise 0: a value that a picture can draw.
double drawable(double value);

}  // namespace busbar::report
