// Rows of perftest (ib_write_bw and its like) as lines that the tables of catalog/evidence read.
#pragma once

#include <string>
#include <string_view>

#include "busbar/formats/perftest.h"

namespace busbar::doctor {

/// Follows the lines of a text.
class PerftestRows {
 public:
  /// "perftest device mlx5_0 reaches 196.5 Gb/s with 65536 bytes"; empty: no row of a table with one direction, or of
  /// messages below 64 KiB, which no NIC sends at its rate.
  std::string said_by(std::string_view line);

 private:
  formats::PerftestLines lines_;
};

}  // namespace busbar::doctor
