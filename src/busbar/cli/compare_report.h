// Steps side by side, as JSON and as a document.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/compare_run.h"
#include "busbar/report/document.h"

namespace busbar {

struct CommonOptions;

/// "A", "B", ..., "Z", "AA", ...
std::string letter_of(std::size_t row);

/// `rows`: at least one.
Json compare_json(const std::vector<CompareRow>& rows, const CompareAsk& ask, const CommonOptions& common);
Document compare_document(const std::vector<CompareRow>& rows, const CompareAsk& ask, const std::string& typed);

}  // namespace busbar
