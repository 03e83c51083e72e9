// Evaluates the clauses of a rule.
#pragma once

#include <string_view>
#include <vector>

#include "busbar/doctor/evidence.h"
#include "busbar/doctor/rule.h"

namespace busbar::doctor {

/// A way to fulfil a condition: the facts of the first clause that are its subject, and those of further clauses.
struct Fulfilment {
  std::vector<const Fact*> lead, rest;
};

/// Every way to fulfil all clauses of `when` and none of `unless`.
std::vector<Fulfilment> fulfilments(const Rule& rule, const Evidence& evidence);

/// '*' matches any text, '?' one character, '#' one digit; letters match in either case.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace busbar::doctor
