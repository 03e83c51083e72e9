// Max-min fair rates of the same fluids again and again, some of which have ended.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/solve/max_min.h"

namespace busbar {

/// Fluids with their links, their caps and the order of these. Two such sets take up no work space: KeptRates has it.
struct KeptFluids {
  std::vector<double> capacity;  ///< per link
  std::vector<double> cap;       ///< per fluid
  Csr<std::uint32_t> links;      ///< per fluid
  std::vector<double> weight;    ///< in parallel to links.values
  Csr<std::uint32_t> crossing;   ///< per link: fluids, ascending
  std::vector<std::uint32_t> by_cap;

  /// The fluids of `fluids` with what MaxMinSolver::reduce() left of their links. Pre: they share these with no others.
  /// `number`: work space, kNone32 per row of `reduced`, before and after.
  KeptFluids(const MaxMinSolver& reduced, std::span<const std::uint32_t> fluids, std::vector<double> caps,
             std::vector<std::uint32_t>& number);
  std::span<const double> weights_of(std::uint32_t fluid) const {
    return std::span(weight).subspan(links.begin[fluid], links.row(fluid).size());
  }
};

/// The rates that MaxMinSolver would give. Up to kFew fluids, by a look at all links for the fullest one, block by
/// block, each time a rate is fixed: no heap, and no copies of links and weights.
class KeptRates {
 public:
  static constexpr std::uint32_t kFew = 128;
  explicit KeptRates(Shortcuts shortcuts = {}) : many_(std::move(shortcuts)) {}
  /// The rates of the open fluids, in order. Valid until the next call. `open`: per fluid.
  std::span<const double> of(const KeptFluids& fluids, std::span<const std::uint8_t> open);

 private:
  static constexpr double kUnknown = -1;
  void of_few(const KeptFluids& fluids, std::span<const std::uint8_t> open);
  std::pair<double, std::uint32_t> least_level();
  void fix(const KeptFluids& fluids, std::uint32_t fluid, double rate);

  MaxMinSolver many_;
  std::vector<double> residual_, open_weight_, level_;  ///< per link; level_: infinity without open fluids
  std::vector<double> block_;                           ///< least level of each 16 links; kUnknown: to be found again
  std::vector<std::uint32_t> open_;                     ///< per link
  std::vector<double> rate_;                            ///< per fluid; -1: not known yet
  std::vector<double> out_;
};

}  // namespace busbar
