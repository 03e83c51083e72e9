// What the transport of a network can change of a step: its penalties on the exposed calls that leave the servers.
#pragma once

#include <string>

#include "busbar/cli/train_run.h"

namespace busbar {

struct TransportRange {
  std::string transport, balance;  ///< empty: no penalties are known, and low_s and high_s are the step's time
  double low_s = 0, high_s = 0;    ///< of the step
  double exposed_s = 0;            ///< of the step's exposed communication: what leaves the servers
  bool known() const { return !transport.empty(); }
};

/// The step with its exposed network time at the least and at the greatest of 1 and the factors (mean and 99th
/// percentile) of the catalogue for calls of their fan-in. The fluids count as factor 1. A call ends with its slowest
/// transfer, so the 99th percentile is what calls of many transfers come near.
/// Errors: those of load_call_penalty().
Result<TransportRange> transport_range(const TrainRun& run, const std::string& transport, const std::string& balance,
                                       const std::string& catalog_directory);

}  // namespace busbar
