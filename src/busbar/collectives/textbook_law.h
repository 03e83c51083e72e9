// The time of a schedule as textbooks write it: so many sends in a row, each of latency alpha, and so many bytes per
// rank at rate B.
#pragma once

#include <string>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar::collectives {

enum class LawTerm : std::uint8_t { kNone, kLatency, kTransfer };
/// A part of the formula: "2(n-1) (" is no term, "S / (n B)" is the transfer.
struct LawPiece {
  std::string text;
  LawTerm term = LawTerm::kNone;
};

/// T = sends x alpha + share x S / B. Sources: Thakur, Rabenseifner and Gropp, Optimization of Collective Communication
/// Operations in MPICH (2005), sections 3 and 4; docs/collectives.md for the counts.
struct TextbookLaw {
  std::vector<LawPiece> formula;
  double sends = 0;  ///< the longest chain of one channel
  double share = 0;  ///< bytes that the busiest rank sends or receives, as a multiple of S
};

/// Rings and trees over all ranks as formulas in n; other schedules with their numbers. Cost: O(moves).
TextbookLaw textbook_law(const Schedule& schedule);

}  // namespace busbar::collectives
