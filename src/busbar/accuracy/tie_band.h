// How much slower than the best prediction the fastest of many layouts may be predicted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace busbar::accuracy {

/// Seconds of a step.
struct LayoutTimes {
  double predicted = 0, measured = 0;
  double kernel_share = 0;  ///< of the predicted step
};

/// Layouts of one job on one machine, measured by the same people.
struct LayoutSweep {
  std::string source;
  std::vector<LayoutTimes> layouts;
};

/// A tie holds the layouts that are predicted to be slower than the best by at most `percent`. A job is held where a
/// layout in the tie was measured within 3 % of the fastest. `percent` is the most that any job needs, times the factor
/// by which a source exceeds the most that all other sources need (2 where they need nothing): so sources that are left
/// out are held. Where that share is told, a source weighs as the root of its number of jobs: the next user is a new
/// source.
struct TieBand {
  std::size_t jobs = 0, sources = 0;  ///< with two or more layouts
  double percent = 0;
  double held_percent = 0;  ///< of the jobs of each source, by the band that all other sources give
  double tied = 0;          ///< median of the layouts in a tie, the best included
};
/// Empty with fewer than two sources.
TieBand tie_band_of(const std::vector<LayoutSweep>& sweeps);

}  // namespace busbar::accuracy
