// Money and power in words.
#pragma once

#include <string>

#include "busbar/cost/bill.h"

namespace busbar::cost {

std::string dollars(double usd);                 ///< "$312 M", "$47.3 k", "$100"
std::string dollars(const spec::PriceRange& r);  ///< "$36 k to $50 k", or one figure
/// "$36,000", "$9,400", "$4.0", "$0.012", "-$300": two significant digits, as prices are known within a factor of two.
std::string format_money(double usd);
std::string rating_text(double watts);          ///< "1.2 MW", "97.5 kW", "700 W"
std::string rating_text(const BillSums& sums);  ///< the same; "> 700 W" or "-" where ratings are not known

}  // namespace busbar::cost
