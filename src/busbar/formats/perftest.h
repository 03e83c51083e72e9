// The tables of perftest: ib_write_bw, ib_read_bw, ib_send_bw, and ib_write_lat and its like.
//
// Source of the shapes: linux-rdma perftest 24, src/perftest_parameters.c and perftest_resources.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace busbar::formats {

struct PerftestRow {
  std::string test, device;  ///< "RDMA_Write BW", "mlx5_0"; empty: not said before the table
  std::int64_t bytes = 0;    ///< of a message
  double gigabits = 0;       ///< on average, 1e9 bit/s; 0: a table of latencies
  double us = 0;             ///< the typical one: half of a round trip, but for a read all of it; 0: a table of rates
  bool both_ways = false;    ///< the rate is the sum of two directions
  bool gpu_memory = false;   ///< not host memory
};

/// Follows the lines of a text.
class PerftestLines {
 public:
  /// The row of a table that the line is; nothing for any other line.
  std::optional<PerftestRow> read(std::string_view line);

 private:
  void begin_table(std::string_view heading);
  PerftestRow said_;        ///< by lines before the rows
  double gigabits_ = 0;     ///< of the table's unit; 0: no table of rates
  bool latencies_ = false;  ///< a table of latencies
};

bool looks_like_perftest(std::string_view head);

}  // namespace busbar::formats
