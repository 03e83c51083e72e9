// What popular texts say about GPU networks, computed now.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/context.h"

namespace busbar::questions {

struct ClaimsRequest {
  std::string claim;  ///< or a text; empty: all
  std::string catalog;
};
const Record& record_of(const ClaimsRequest*);

struct ComputedClaim {
  std::string id, text, said;
  std::optional<double> said_value;
  std::optional<std::string> unit;
  std::optional<double> computed, computed_up_to;
  bool both_directions = false;
  std::string verdict;
  std::optional<double> said_over_computed;
  std::optional<std::string> depends_on, decided_by, why, command;
  std::vector<std::string> commands;
  std::optional<std::string> problem;
  // For views only:
  std::string title;                                       ///< of the text
  std::string formula, holds;                              ///< as in the file
  std::vector<std::pair<std::string, std::string>> terms;  ///< of the formulas: name, "PATH of: busbar COMMAND"
};
const Record& record_of(const ComputedClaim*);

struct ClaimsResult {
  std::vector<ComputedClaim> claims;
  Named<std::uint64_t> summary;
  bool complete = true;
  std::string inputs_hash;
  int exit_status = 0;
};
const Record& record_of(const ClaimsResult*);

Result<ClaimsResult> answer(const ClaimsRequest& request, const Context& context = {});

}  // namespace busbar::questions
