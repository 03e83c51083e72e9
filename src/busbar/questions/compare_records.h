// What a comparison found, as results.
#pragma once

#include <vector>

#include "busbar/questions/compare_question.h"

namespace busbar::questions {

/// The members that the request decides, such as the engine and the commands of rows, stay open.
CompareSteps steps_result(std::vector<CompareRow> rows, double tokens);
CompareCalls calls_result(std::vector<CallRow> rows, CallsAsk asked);
CrossingResult crossing_result(const MachineCrossing& found);
CompareLinks links_result(const std::vector<spec::LinkRow>& rows);
CompareOptics optics_result(const std::vector<spec::OpticsRow>& rows);

}  // namespace busbar::questions
