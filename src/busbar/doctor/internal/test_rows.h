// Rows of nccl-tests as lines that the tables of catalog/evidence read: what a table shows without a machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace busbar::doctor {

/// Follows the lines of a text.
class TestRows {
 public:
  /// "test row of 67108864 bytes", and what is odd about it: the two runs differ, it takes less time than a smaller
  /// size, or it has less than half the bandwidth of a smaller size. Empty: no row of a table.
  std::string said_by(std::string_view line);

 private:
  std::string odd(double out_us, double in_us) const;

  std::uint64_t bytes_ = 0;    ///< of this row
  double before_us_ = 0;       ///< time of the row before, if that was of a size that counts
  double best_bandwidth_ = 0;  ///< of the rows before, bytes/us
};

}  // namespace busbar::doctor
