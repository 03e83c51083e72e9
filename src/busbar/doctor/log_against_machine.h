// Compares what NCCL logged with what its rules give on the described machine: rings, trees, NICs, channels, picks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/accuracy/expect.h"
#include "busbar/formats/nccl_log.h"

namespace busbar::doctor {

/// One thing that the log and the rules give differently.
struct LogDifference {
  std::string what;                      ///< "channels of collectives"
  std::string logged, expected;          ///< in words
  std::string cause;                     ///< the likely one
  std::optional<double> cost_percent;    ///< predicted time as logged relative to as expected, minus one
  std::string cost_of;                   ///< what was timed; without a cost: why nothing was
  std::optional<double> most_percent{};  ///< of fewer channels: an upper bound of the cost
};

/// A pick of algorithm and protocol for one size, and the time of both picks.
struct LoggedPick {
  std::string collective;
  std::uint64_t bytes = 0;
  int line = 0;
  double slower_percent = 0;  ///< predicted time as logged relative to as expected, minus one
};

struct LogComparison {
  std::string file;
  int line = 0;  ///< of the communicator's first message
  std::uint32_t ranks = 0, nodes = 0;
  std::uint32_t others = 0;           ///< communicators of the log that were not compared
  std::string library;                ///< whose rules give the expected values: "NCCL 2.19"
  std::vector<std::string> settings;  ///< of the log, that the expected values follow
  std::vector<std::string> ignored;   ///< of the log, without effect on the model
  std::vector<std::string> agrees;    ///< "16 rings"
  std::vector<LogDifference> differences;
  std::size_t picks_compared = 0;
  std::vector<LoggedPick> picks;  ///< logged picks other than expected, the largest size of each kind
  std::string refused;            ///< why nothing was compared; otherwise empty
};

/// Compares the largest communicator of the log. Its hosts are the first nodes of the machine, in the order of their
/// ranks. Costs are of 1 GiB of `options.op`, those of picks at their sizes. Error if the machine cannot be built.
Result<LogComparison> compare_log(const formats::NcclLog& log, const std::string& file,
                                  const accuracy::ExpectOptions& options);

/// The picks as lines that catalog/evidence/log-against-machine.yaml reads; empty if none was compared.
std::string describe_picks(const LogComparison& comparison);

}  // namespace busbar::doctor
