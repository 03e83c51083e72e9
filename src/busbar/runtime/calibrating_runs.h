// What the runtime itself reaches on this host: short runs of two rings, a gather and a scatter, from which other
// algorithms and sizes are predicted.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/runtime/session.h"

namespace busbar::runtime {

/// Rates at which a rank takes in what others have, at calls of one size.
struct RunRatePoint {
  std::uint64_t bytes = 0;           ///< of the call
  double copy_bytes_per_s = 0;       ///< while all ranks copy: a ring all-gather
  double add_bytes_per_s = 0;        ///< while all ranks add: a ring reduce-scatter
  double one_copy_bytes_per_s = 0;   ///< while one rank copies and the others wait: a gather
  double kept_copy_bytes_per_s = 0;  ///< while all but one copy what does not change, so it stays in caches: a scatter
};

struct RunRates {
  double hop_s = 0;                    ///< of a step around a ring, with next to no data
  double per_message_s = 0;            ///< of a rank that sends or takes in several: for each beyond the first
  double kept_message_s = 0;           ///< of a gather of next to no data, per message: no rank waits for an answer
  std::vector<RunRatePoint> points{};  ///< smallest first

  /// Between two measured sizes: in proportion, on a logarithmic scale of sizes.
  RunRatePoint at(std::uint64_t bytes) const;
};

/// Takes about half a second. `bytes`: the largest call that matters; messages longer than `piece_bytes` go in pieces.
/// Errors: those of run_tasks(). Precondition: at least two ranks.
Result<RunRates> measure_runs(std::uint32_t ranks, std::uint64_t bytes, std::uint64_t piece_bytes,
                              const SessionOptions& options);

}  // namespace busbar::runtime
