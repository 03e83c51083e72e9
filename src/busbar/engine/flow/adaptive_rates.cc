#include "busbar/engine/flow/internal/adaptive_rates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "busbar/lowering/adaptive.h"

namespace busbar::engine {

AdaptiveRates::AdaptiveRates(const routing::Router& router, WayOf way, const routing::CapacityCounts& capacities,
                             std::function<double(routing::CapacityId)> rate, double cap, std::uint32_t items,
                             const Shortcuts& shortcuts)
    : router_(router),
      way_of_(std::move(way)),
      rate_of_(std::move(rate)),
      cap_(cap),
      split_cost_(router.topology(), capacities, rate_of_),
      items_(items),
      solver_(capacities, shortcuts),
      used_(capacities, 0.0),
      fastest_(used_),
      bytes_(used_),
      items_on_(capacities, 0) {}

topology::LinkId AdaptiveRates::held_by(std::uint32_t id) const {
  constexpr double kFull = 1 - 1e-9;
  const Item& item = items_[id];
  for (const routing::CapacityId l : item.way.on)
    if (used_[l] >= rate_of_(l) * kFull && item.rate >= fastest_[l] * kFull)
      return l.is_link() ? l.link() : kNone<topology::LinkId>;
  return kNone<topology::LinkId>;
}

/// Adds what it has sent since it was last counted to the links it crosses.
void AdaptiveRates::count(Item& item, std::int64_t now_ps) {
  const double bytes = item.rate * static_cast<double>(now_ps - std::exchange(item.counted_ps, now_ps));
  for (std::size_t k = 0; k < item.way.on.size(); ++k) bytes_[item.way.on[k]] += item.way.weight[k] * bytes;
}

lowering::Stage AdaptiveRates::way(std::uint32_t item, const routing::SplitBias& bias) {
  scratch_.clear();
  way_of_(item, bias, scratch_);
  lowering::Stage out;
  for (const routing::CapacityShare& s : scratch_) {
    out.on.push_back(s.on);
    out.weight.push_back(s.share);
  }
  lowering::Fluid f;
  f.end = static_cast<std::uint32_t>(out.on.size());
  f.bytes = 1;
  f.alone_ps = 1 / cap_;
  out.fluids.push_back(f);
  return out;
}

bool AdaptiveRates::due() const {
  constexpr std::size_t kFew = 64, kPart = 8;
  if (open_.size() <= kFew || changes_ * kPart >= open_.size()) return true;
  return !solver_.shortcuts().take(Shortcut::kRareSplits);
}

/// Finds the split that serves all that is under way best, and gives them its ways.
void AdaptiveRates::split(std::int64_t now_ps) {
  changes_ = 0;
  for (const std::uint32_t id : open_) count(items_[id], now_ps);  // on the links of the previous split
  lowering::SplitSearch search(std::exchange(bias_, {}));
  std::vector<lowering::Stage> best;
  std::vector<const lowering::Stage*> all(open_.size());
  for (bool first = true; !search.over(); first = false) {
    std::vector<lowering::Stage> ways;
    for (const std::uint32_t item : open_) ways.push_back(way(item, search.bias()));
    for (std::size_t i = 0; i < ways.size(); ++i) all[i] = &ways[i];
    if (first) split_cost_.measure_demand(all);
    const SplitOutcome found = split_cost_.of(all);
    search.record(router_.topology(), found.cost, found.load, static_cast<double>(all.size()));
    if (search.improved()) best = std::move(ways);
  }
  bias_ = search.best();
  for (std::size_t i = 0; i < open_.size(); ++i) items_[open_[i]].way = std::move(best[i]);
}

void AdaptiveRates::solve(std::int64_t now_ps) {
  constexpr double kSame = 1e-12;
  solver_.begin(StageSolver::Rates::kAsBefore);
  for (const std::uint32_t id : open_) solver_.add(items_[id].way.on, items_[id].way.weight, cap_, rate_of_);
  const auto rates = solver_.solve();
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Item& item = items_[open_[i]];
    if (std::abs(rates[i] - item.rate) > kSame * item.rate) {
      count(item, now_ps);
      item.rate = rates[i];
      changed_.push_back(open_[i]);
    }
    for (std::size_t k = 0; k < item.way.on.size(); ++k) {
      const routing::CapacityId l = item.way.on[k];
      used_[l] += item.way.weight[k] * item.rate;
      fastest_[l] = std::max(fastest_[l], item.rate);
    }
  }
}

void AdaptiveRates::settle(std::int64_t now_ps) {
  changed_.clear();
  if (opened_.empty() && closed_.empty()) return;
  changes_ += opened_.size() + closed_.size();
  for (const std::uint32_t id : open_)
    for (const routing::CapacityId l : items_[id].way.on) used_[l] = fastest_[l] = 0;
  for (const std::uint32_t id : closed_) {
    Item& item = items_[id];
    count(item, now_ps);
    item.rate = 0;
    item.way = {};
  }
  if (!closed_.empty()) std::erase_if(open_, [&](std::uint32_t id) { return items_[id].way.on.empty(); });
  open_.insert(open_.end(), opened_.begin(), opened_.end());
  for (const std::uint32_t id : opened_) {
    items_[id].counted_ps = now_ps;
    items_[id].way = way(id, bias_);
    for (const routing::CapacityId l : items_[id].way.on) ++items_on_[l];
  }
  opened_.clear();
  closed_.clear();
  if (due()) split(now_ps);
  solve(now_ps);
}

}  // namespace busbar::engine
