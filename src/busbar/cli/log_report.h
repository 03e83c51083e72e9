// A log next to the machine, as JSON and as a page.
#pragma once

#include <vector>

#include "busbar/base/json.h"
#include "busbar/doctor/log_against_machine.h"
#include "busbar/report/document.h"

namespace busbar {

Json to_json(const LogComparison& comparison);
/// Appends one table per log.
void add_comparison(const LogComparison& comparison, const std::string& cluster, Document& out);

}  // namespace busbar
