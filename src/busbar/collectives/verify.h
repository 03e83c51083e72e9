// Proves by symbolic execution that a schedule meets the demand of its collective.
//
// 1. The content of a chunk is the set of ranks whose input has gone into it. Rounds run in order; within a round every
//    move reads data from earlier rounds.
// 2. At the end every output chunk holds exactly what the collective demands: no contribution missing, none too many.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/collectives/collective_demand.h"
#include "busbar/collectives/moves.h"
#include "busbar/collectives/schedule.h"

namespace busbar::collectives {

/// "3 -> 4, chunks [8, 10), output -> output, added to input".
std::string describe(const Move& move);

/// Executes any moves, not only a schedule's own, for the collective, ranks, chunks and layout of `schedule`.
/// Cost: O(ranks / 64) per chunk moved; memory ranks x chunks x ranks / 32 bytes. For some hundreds of ranks.
class Verifier {
 public:
  explicit Verifier(const Schedule& schedule);

  /// The next round of `channel`. Errors name channel, round and move:
  ///  - an actor or chunk that does not exist, a move to itself, a write to an input, a use of an output that the
  ///    collective does not give this rank;
  ///  - a chunk that the source does not hold (yet), unless Schedule::sends_nothing;
  ///  - a reduction that counts a contribution twice;
  ///  - in one round: two writes to a chunk unless the second adds to the first, or a write to a chunk also sent;
  ///  - a chunk that another channel has touched.
  /// After an error the state is undefined.
  Status round(std::uint32_t channel, std::span<const Move> moves);

  /// Checks the collective's demand at the end; the error names rank, chunk and contribution.
  Status finish() const;

 private:
  using Word = std::uint64_t;
  std::size_t slot(std::uint32_t actor, Buffer buffer, std::uint32_t chunk) const;
  std::string shape_error(std::uint32_t channel, const Move& m);
  std::string read(const Move& m);
  std::string write(const Move& m, const Word* values);

  struct Slot {
    std::uint64_t written = 0;  ///< last round (counted over all channels, from 1) that wrote here
    std::uint64_t read = 0;     ///< last round that sent from here
  };

  Schedule schedule_;
  CollectiveDemand demand_;
  std::size_t words_;          ///< per content set
  std::vector<Word> content_;  ///< per slot
  std::vector<Slot> slots_;
  std::vector<Word> in_flight_;               ///< contents read in this round
  std::vector<std::uint32_t> chunk_channel_;  ///< channel that touched a chunk
  std::vector<std::uint32_t> rounds_done_;    ///< per channel
  std::uint64_t now_ = 0;
};

/// All moves of the schedule, channel by channel, then `finish`.
Status verify(const Schedule& schedule);

}  // namespace busbar::collectives
