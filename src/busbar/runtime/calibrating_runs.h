// What the runtime itself reaches on this host: short runs of two rings, a gather and a scatter, from which other
// algorithms and sizes are predicted, and of one algorithm of the operation itself, which says how much longer it takes
// than they let expect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

/// An algorithm of an operation that is timed at all sizes. Ranks take in what other cores have just written in some
/// operations and not in others, and only some copy what a rank has itself: no rate of rings says that of all.
struct Reference {
  std::string algorithm;
  collectives::Collective op{};
  std::uint32_t root = 0;
  bool in_place = false;
};
/// The one for an operation. That of all_to_allv is an all_to_all.
Reference reference_for(collectives::Collective op, std::uint32_t root, bool in_place);

struct TimedCall {
  std::uint64_t bytes = 0;
  double seconds = 0;
};

struct RunRates {
  double hop_s = 0;                    ///< of a step around a ring, with next to no data
  double per_message_s = 0;            ///< of a rank that sends or takes in several: for each beyond the first
  double kept_message_s = 0;           ///< of a gather of next to no data, per message: no rank waits for an answer
  std::vector<RunRatePoint> points{};  ///< smallest first
  std::vector<TimedCall> reference{};  ///< smallest first; empty: none was asked for

  /// Between two measured sizes: in proportion, on a logarithmic scale of sizes.
  RunRatePoint at(std::uint64_t bytes) const;
  /// Seconds of the reference: between two sizes as a power of the size, below the least as long as that, above the
  /// largest in proportion. Precondition: `reference` is not empty.
  double reference_s(std::uint64_t bytes) const;
};

/// Takes about a second. `bytes`: the largest call that matters; messages longer than `piece_bytes` go in pieces.
/// Errors: those of run_tasks(). Precondition: at least two ranks.
Result<RunRates> measure_runs(std::uint32_t ranks, std::uint64_t bytes, std::uint64_t piece_bytes,
                              const SessionOptions& options, const std::optional<Reference>& reference = {});

}  // namespace busbar::runtime
