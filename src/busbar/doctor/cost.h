// What a finding costs on a machine: predicted times with and without its fault.
#pragma once

#include <string>

#include "busbar/accuracy/expect.h"
#include "busbar/doctor/diagnose.h"

namespace busbar::doctor {

struct FaultCostOptions {
  accuracy::ExpectOptions machine;  ///< `op` counts only if it is asked for; `load` must be set
  bool op_asked = false;            ///< otherwise the operation is that of the rule, or all-reduce
};

/// Fills in `cost_percent` and `cost_of` of the findings whose rules have a counterpart in the machine: 1 GiB over all
/// GPUs, as a share of the time of the sound machine. A finding keeps no cost if the machine cannot have the fault (one
/// node has no network) or cannot be predicted with it. Returns the text of the machine's files, for inputs_hash().
/// Error if the machine itself cannot be built.
Result<std::string> add_costs(const FaultCostOptions& options, Diagnosis& found);

}  // namespace busbar::doctor
