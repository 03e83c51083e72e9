// What a user's own table does to the other answers for that machine, judged on published machines: one part of a
// machine's tables is left out, the others are its own table (MeasuredCalls), and the part is predicted.
#pragma once

#include <string>
#include <vector>

#include "busbar/accuracy/scored_row.h"
#include "busbar/base/csv.h"
#include "busbar/program/measured_calls.h"

namespace busbar::accuracy {

/// Errors over pairs of a machine and an operation that are left out, each the median over its sizes in one band.
struct OwnTableLine {
  std::string left_out;                          ///< "sizes", "operations", "nodes", "GPUs of a node"
  std::string sizes;                             ///< "below 1 MiB", "1-64 MiB", "64 MiB and more"
  double before_percent = 0, after_percent = 0;  ///< medians of |error|: without own tables, and with the others
  double own_percent = 0;                        ///< with the pair's own table, of which a quarter is left out in turn
  double moved_percent = 0;                      ///< share of pairs whose error changes by more than 0.1 points
  double worse_percent = 0;                      ///< share of pairs whose error grows by more than 2 points
  double in_band_percent = 0;                    ///< share of measured times inside the band afterwards
  std::uint64_t pairs = 0, machines = 0;
};

struct OwnTableJudgement {
  std::vector<OwnTableLine> lines;
  program::CarryOver best{};    ///< of carry_over_choices() over all machines
  bool best_is_in_use = false;  ///< whether it is carry_over_in_use()
};

/// What may be learnt about how far measurements carry over. The first is carry_over_in_use().
std::vector<program::CarryOver> carry_over_choices();

struct ScoredTable {
  CsvTable table;
  std::vector<ScoredRow> rows;
};

/// Rows that count, of collectives. A machine: equal source, system, GPU, board, library and environment. Its parts are
/// predicted with the choice that is best for the machines of all other sources.
OwnTableJudgement judge_own_tables(const std::vector<ScoredTable>& tables);

}  // namespace busbar::accuracy
