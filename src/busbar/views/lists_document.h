// A step in every combination of lists, as a document.
#pragma once

#include "busbar/questions/lists_result.h"
#include "busbar/report/document.h"

namespace busbar::views {

report::Document lists_document(const questions::ListsAnswer& answer);

}  // namespace busbar::views
