// What let an operation start: the last operation to end of all that it waited for.
#pragma once

#include <vector>

#include "busbar/program/passes.h"
#include "busbar/step/run_program.h"

namespace busbar::step {

/// The cause of an operation is the one that ended when it started, among its predecessor on its stream and its
/// dependencies. If several did: a delay before a collective, then the predecessor, then the first listed. So causes
/// follow from times alone. Keeps references to its arguments.
class Causes {
 public:
  Causes(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run);
  /// kNone: nothing; it started at time 0.
  program::OpId of(program::OpId op) const { return of(ids_.place(op)); }
  program::OpId of(program::OpIndex::Place place) const;
  /// The last operation to end; if several end last, a delay before a collective, then the last listed. kNone: there is
  /// none.
  program::OpId last() const;

 private:
  program::OpId predecessor(program::OpIndex::Place place) const;
  const program::Program& program_;
  const program::OpIndex& ids_;
  const ProgramRun& run_;
  std::vector<program::OpId> before_op_;               ///< per entry of Program::ops: the one before it on its stream
  std::vector<std::uint32_t> use_begin_;               ///< uses + 1 offsets into before_use_
  std::vector<program::OpId> before_use_;              ///< per use and stream of its pass
  std::vector<std::vector<std::uint32_t>> before_in_;  ///< per pass and operation: the previous on its stream; kFirst +
                                                       ///< stream
  static constexpr std::uint32_t kFirst = 0x8000'0000u;
};

}  // namespace busbar::step
