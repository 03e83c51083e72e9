// Warnings of NCCL that no rule knows: an answer never passes over them.
#pragma once

#include <vector>

#include "busbar/doctor/diagnose.h"

namespace busbar::doctor {

/// Findings about what the rules leave unexplained: `unknown-warning`, the warnings of NCCL (kWarningFact) that are the
/// evidence of none of `known` and that sound jobs do not print (kHarmlessFact); and `unknown-failure`, the end of the
/// job (kFailureFact) if nothing else explains it. A warning is a fail if the job has failed and no other fail is
/// known.
std::vector<Finding> unknown_warnings(const Evidence& evidence, const std::vector<Finding>& known);

}  // namespace busbar::doctor
