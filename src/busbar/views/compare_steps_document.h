// Steps side by side: who is the fastest, what ties, and what it costs.
#pragma once

#include "busbar/questions/compare_question.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// Pre: the result has a row.
report::Document compare_steps_document(const questions::CompareSteps& result);

}  // namespace busbar::views
