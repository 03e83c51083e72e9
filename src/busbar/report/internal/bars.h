// Properties of a set of bars for text and page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/report/internal/scale.h"

namespace busbar::report {

/// Sum of the parts that can be drawn (finite and positive).
double bar_total(const Bar& bar);

/// The common scale of all bars, and the list of all their parts. Keeps a reference to `bars`.
class BarsLayout {
 public:
  explicit BarsLayout(const Bars& bars);
  double scale_max() const { return scale_max_; }  ///< the right end of the axis, > 0
  double mark_percent() const;                     ///< position of the mark on the axis; negative: no mark on it
  const UnitScale& scale() const { return scale_; }
  /// Name and palette index of every part above zero in some bar, in order of first appearance.
  const std::vector<std::pair<std::string, int>>& parts() const { return parts_; }
  /// Sum of the parts named `part` in bar `bar`.
  double value(std::size_t bar, const std::string& part) const;
  /// Whether more than a value is said of the parts of the only bar.
  bool says_more() const { return !bars_.more.empty() && bars_.bars.size() == 1; }
  /// What else is said of a part; empty: nothing.
  std::string more(const std::string& part) const;
  /// The same after a value: ", if free -0.23 s".
  std::string also(const std::string& part) const;
  /// One row per part and one for the total; value and share for every bar.
  Table table() const;

 private:
  const Bars& bars_;
  double scale_max_;
  UnitScale scale_;
  std::vector<std::pair<std::string, int>> parts_;
};

}  // namespace busbar::report
