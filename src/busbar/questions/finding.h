// What is wrong, in the results of localize, doctor and expect: DESIGN 5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"

namespace busbar::questions {

struct Candidate {
  std::string part;
  double confidence = 0;
  std::optional<std::uint32_t> against;
};
const Record& record_of(const Candidate*);

struct Evidence {
  std::string file;
  std::int64_t line = 0;
  std::string text;
};
const Record& record_of(const Evidence*);

struct Finding {
  std::string rule, severity;
  std::optional<std::string> part;
  std::vector<Candidate> candidates;
  std::vector<Evidence> evidence;
  std::string explanation, fix;
  std::optional<double> cost_percent;
};
const Record& record_of(const Finding*);

}  // namespace busbar::questions
