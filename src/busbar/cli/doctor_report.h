// Findings as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/doctor/diagnose.h"
#include "busbar/doctor/log_against_machine.h"
#include "busbar/report/document.h"

namespace busbar {

Json to_json(const Diagnosis& diagnosis, const Evidence& evidence);
/// Worst first: title, evidence, explanation and fix of each finding, then logs next to `machine`, then what could not
/// be judged.
Document to_document(const Diagnosis& diagnosis, const Evidence& evidence, const std::string& typed,
                     const std::vector<LogComparison>& compared, const std::string& machine);

}  // namespace busbar
