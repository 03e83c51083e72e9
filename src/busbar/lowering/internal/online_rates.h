// Fair rates of a TransferClock's items, from the online solver.
#pragma once

#include <cstdint>
#include <span>

#include "busbar/solve/online_max_min.h"

namespace busbar::lowering {

/// What TransferClock asks for, of rates that no time changes.
struct OnlineRates {
  solve::OnlineMaxMin solver;
  void open(std::uint32_t item) { solver.open(item); }
  void close(std::uint32_t item) { solver.close(item); }
  void settle(std::int64_t /*now_ps*/) { solver.settle(); }
  std::span<const std::uint32_t> changed() const { return solver.changed(); }
  double rate(std::uint32_t item) const { return solver.rate(item); }
};

}  // namespace busbar::lowering
