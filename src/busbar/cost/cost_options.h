// What whoever counts money may set.
#pragma once

#include <string>

#include "busbar/cost/bill.h"

namespace busbar::cost {

struct CostOptions {
  std::string prices;             ///< a file; empty: the catalogue alone
  CostTerms terms{0.08, 1.2, 4};  ///< power in the USA and PUE of modern halls: docs/models/cost.md; years: a choice
  Status check() const;           ///< errors name the field
};

}  // namespace busbar::cost
