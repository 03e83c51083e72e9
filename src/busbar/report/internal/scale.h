// Axes: nice ticks, one unit for all values of a picture, and short numbers for coordinates.
#pragma once

#include <string>
#include <vector>

namespace busbar {

/// One unit and one number of decimals for all values of a picture, so that they compare at a glance.
/// Seconds become ms, us, ns or ps where the largest value is that small; other units stay as they are.
class UnitScale {
 public:
  /// `largest` decides unit and decimals: it shows `digits` significant digits.
  UnitScale(double largest, std::string unit, int digits = 3);
  /// "9.31"; a value that is there but rounds to zero is "<0.01".
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
/// Ticks at multiples of 1, 2 or 5 times a power of ten in [low, high], about `wanted` of them and at most
/// 2 x wanted + 1, labelled as `value x factor`. None for an empty or non-finite range.
std::vector<Tick> nice_ticks(double low, double high, int wanted, double factor = 1);

/// The smallest of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten that is not below `value`; 1 for nothing
/// positive.
double nice_ceiling(double value);

/// "12.5", "3": at most two decimals, for SVG; "0" for what is not finite.
std::string coordinate(double value);

/// `value` where it is finite and positive, else 0: what a picture can draw.
double drawable(double value);

}  // namespace busbar
