// Faults that explain results, for `busbar expect`: JSON and text.
#pragma once

#include "busbar/accuracy/fault_search.h"
#include "busbar/base/json.h"
#include "busbar/report/document.h"

namespace busbar {

/// Adds `findings`, `unseen_parts` and `next`. `found`: null if there was no search.
void add_findings(Json& j, const FaultSearchResult* found, const Expectation& e);
void add_findings(Document& d, const FaultSearchResult* found, const Expectation& e);

}  // namespace busbar
