// Money and energy of a step, of tokens and of a whole run.
#pragma once

#include <optional>
#include <string>

#include "busbar/base/record.h"
#include "busbar/questions/compare_run.h"

namespace busbar::cost {

const Record& record_of(const CostTerms*);
const Record& record_of(const CostOptions*);

}  // namespace busbar::cost

namespace busbar::questions {

/// "15T", "300B", "2.5e12": decimal K, M, B (1e9), T. Error kInvalid names `field` and gives an example.
Result<double> parse_count(const std::string& text, const char* field, const char* example);

struct WorkPrice {
  std::optional<double> usd_low, usd_high, energy_usd, kwh, rent_usd;
};
const Record& record_of(const WorkPrice*);

/// Of all tokens, without failures.
struct WholeRun {
  WorkPrice price;
  double tokens = 0, days = 0;
};
const Record& record_of(const WholeRun*);

struct TokenCost {
  double step_time_s = 0, balanced_step_time_s = 0, tokens_per_s = 0, mfu = 0;
  WorkPrice per_step, per_million_tokens;
  std::optional<WholeRun> whole_run;
};
const Record& record_of(const TokenCost*);

/// `tokens`: of a whole run; 0: none is asked for.
TokenCost token_cost(const CompareRow& row, double tokens);
std::optional<WholeRun> whole_run(const CompareRow& row, double tokens);

}  // namespace busbar::questions
