// What text and page need to know about a set of bars.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/report/internal/scale.h"

namespace busbar {

/// Sum of the parts that can be drawn (finite and positive).
double bar_total(const Bar& bar);

/// Common scale of all bars and the list of all their parts. Keeps a reference to `bars`.
class BarsLayout {
 public:
  explicit BarsLayout(const Bars& bars);
  double scale_max() const { return scale_max_; }  ///< the right end of the axis, > 0
  double mark_percent() const;                     ///< where the mark stands on the axis; negative: there is none on it
  const UnitScale& scale() const { return scale_; }
  /// Name and palette index of every part that is more than nothing in some bar, in order of first appearance.
  const std::vector<std::pair<std::string, int>>& parts() const { return parts_; }
  /// Sum of the parts named `part` in bar `bar`.
  double value(std::size_t bar, const std::string& part) const;
  /// One row per part and one for the total; value and share for every bar.
  Table table() const;

 private:
  const Bars& bars_;
  double scale_max_;
  UnitScale scale_;
  std::vector<std::pair<std::string, int>> parts_;
};

}  // namespace busbar
