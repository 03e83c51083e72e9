// Fair rates of transfers under adaptive routing, split again as they start and end.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "busbar/engine/flow/internal/split_cost.h"
#include "busbar/routing/link_share.h"
#include "busbar/routing/router.h"

namespace busbar::engine {

/// Where an item's bytes go under `bias`: appends each capacity with the bytes on it per byte sent. Must find a way
/// under every bias.
using WayOf =
    std::function<void(std::uint32_t item, const routing::SplitBias& bias, std::vector<routing::CapacityShare>& out)>;

/// What TransferClock asks for. The split is sought at every start and end; where more than 64 are under way, when an
/// eighth of them has started or ended since (Shortcut::kRareSplits). Rates are solved again at each event: items that
/// are split over many links share links with nearly all others, so that most rates change.
/// Cost of a split: 1 to 24 times routing all that is under way.
class AdaptiveRates {
 public:
  /// `capacities`: of all that ways may cross; `rate`: bytes per ps of one; `cap`: of an item.
  AdaptiveRates(const routing::Router& router, WayOf way, const routing::CapacityCounts& capacities,
                std::function<double(routing::CapacityId)> rate, double cap, std::uint32_t items,
                const Shortcuts& shortcuts);
  AdaptiveRates(const AdaptiveRates&) = delete;
  AdaptiveRates& operator=(const AdaptiveRates&) = delete;

  void open(std::uint32_t item) { opened_.push_back(item); }
  void close(std::uint32_t item) { closed_.push_back(item); }
  void settle(std::int64_t now_ps);
  std::span<const std::uint32_t> changed() const { return changed_; }
  double rate(std::uint32_t item) const { return items_[item].rate; }
  /// The link that holds it back; kNone: nothing, or its cap.
  topology::LinkId held_by(std::uint32_t item) const;
  double bytes_on(routing::CapacityId c) const { return bytes_[c]; }            ///< so far
  std::uint32_t items_on(routing::CapacityId c) const { return items_on_[c]; }  ///< that have crossed it

 private:
  struct Item {
    double rate = 0;
    std::int64_t counted_ps = 0;  ///< its bytes are in bytes_ until then
    lowering::Stage way{};        ///< of one fluid of one byte, so that its cap is the item's
  };
  void count(Item& item, std::int64_t now_ps);
  lowering::Stage way(std::uint32_t item, const routing::SplitBias& bias);
  bool due() const;
  void split(std::int64_t now_ps);
  void solve(std::int64_t now_ps);

  const routing::Router& router_;
  WayOf way_of_;
  std::function<double(routing::CapacityId)> rate_of_;
  double cap_;
  SplitCost split_cost_;
  routing::SplitBias bias_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> open_, opened_, closed_, changed_;
  std::vector<routing::CapacityShare> scratch_;
  StageSolver solver_;
  routing::PerCapacity<double> used_, fastest_;  ///< bytes per ps there, and the highest rate of an item there
  routing::PerCapacity<double> bytes_;
  routing::PerCapacity<std::uint32_t> items_on_;
  std::size_t changes_ = 0;  ///< starts and ends since the last split
};

}  // namespace busbar::engine
