// Tables of the catalogue: links and memories by rate, optics and cables by energy per bit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/price_list.h"

namespace busbar::spec {

/// All lanes of a GPU, or one port, in one direction.
struct LinkRow {
  std::string name, entry;  ///< `entry`: "links/nvlink4"
  std::uint32_t year = 0, lanes = 1;
  double bytes_per_s = 0;  ///< before encoding
  double efficiency = 0;   ///< of copies; 0: not known
  double times_pcie5 = 0;  ///< of 16 lanes
};
/// catalog/comparisons/links, in its order.
Result<std::vector<LinkRow>> read_links(const Catalog& catalog);

struct OpticsRow {
  std::string name, medium;
  double bits_per_s = 0, reach_m = 0;
  std::optional<double> power_w;  ///< of one end
  std::optional<PriceRange> usd;  ///< of one end, or of a cable with both
  bool cable = false;
  double pj_per_bit() const;  ///< of one end; precondition: power_w
};
/// catalog/optics, by energy per bit; what has none comes last.
Result<std::vector<OpticsRow>> read_optics(const Catalog& catalog, const PriceList& prices);

}  // namespace busbar::spec
