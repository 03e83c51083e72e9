// Money and energy of a step, of tokens and of a whole run, in words.
#pragma once

#include <string>
#include <vector>

#include "busbar/questions/compare_run.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// "15T tokens", "800 B tokens".
std::string words_of_tokens(double tokens);
/// A step, a million tokens and, if `tokens` are not 0, a run of so many.
report::Facts token_cost_facts(const questions::CompareRow& row, double tokens);
/// A run of `tokens` on each row: days, price, energy.
report::Table run_table(const std::vector<questions::CompareRow>& rows, double tokens);

}  // namespace busbar::views
