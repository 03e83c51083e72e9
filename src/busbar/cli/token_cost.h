// Money and energy of a step, of tokens and of a whole run.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/compare_run.h"
#include "busbar/report/document.h"

namespace busbar {

/// "15T", "300B", "2.5e12": decimal K, M, B (1e9), T. Error kInvalid names `flag` and gives an example.
Result<double> parse_count(const std::string& text, const char* flag, const char* example);
/// "15T tokens", "800 B tokens".
std::string words_of_tokens(double tokens);

/// {step_time_s, usd_low, usd_high, kwh, ...} of a step, and below "run" of `tokens` (0: none asked for) at this speed
/// without failures.
Json token_cost_json(const CompareRow& row, double tokens);
/// The same in lines for people.
Facts token_cost_facts(const CompareRow& row, double tokens);
/// A run of `tokens` on each row: days, price, energy.
Table run_table(const std::vector<CompareRow>& rows, double tokens);

}  // namespace busbar
