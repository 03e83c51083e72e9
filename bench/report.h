// Figures of the cases, for the terminal and for files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cases.h"
#include "measure.h"

namespace busbar::bench {

/// All runs of one case with one program.
struct Outcome {
  Case about;
  std::vector<Usage> runs;
  std::vector<Usage> old_runs;                        ///< of the program given with --against, or empty
  std::optional<double> predicted_ms;                 ///< from the last run's output
  std::optional<double> packet_hops, events_per_hop;  ///< of the packet engine
  int exit_code = 0;                                  ///< the worst of all runs
};

double median_cpu_s(const std::vector<Usage>& runs);
double median_peak_mib(const std::vector<Usage>& runs);
/// Whether it ran and meets all its targets.
bool meets_targets(const Outcome& outcome);

/// One table: each case with its targets, and below it the needs and results of other programs for the same question.
void print_table(const std::vector<Outcome>& outcomes, const Machine& machine, const std::string& peers_source);
/// One line of JSON, units in the keys, machine in the record.
std::string json_line(const Outcome& outcome, const Machine& machine);

}  // namespace busbar::bench
