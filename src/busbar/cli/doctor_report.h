// Findings as text and as JSON.
#pragma once

#include <string>

#include "busbar/base/json.h"
#include "busbar/doctor/diagnose.h"
#include "busbar/report/document.h"

namespace busbar {

Json to_json(const Diagnosis& diagnosis, const Evidence& evidence);
/// Worst first: title, evidence, explanation and fix of each finding, then what could not be judged.
Document to_document(const Diagnosis& diagnosis, const Evidence& evidence, const std::string& typed);

}  // namespace busbar
