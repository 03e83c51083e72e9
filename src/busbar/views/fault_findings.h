// Faults that explain measured results, as text.
#pragma once

#include "busbar/questions/fault_findings.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// Appends nothing if there was no search.
void add_findings(const questions::FaultFindings& found, report::Document& d);

}  // namespace busbar::views
