// Fair rates of transfers whose ways do not change, all solved again at each event: FixedRates is checked against it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "busbar/solve/max_min.h"
#include "busbar/topology/link.h"

namespace busbar::engine {

/// As FixedRates (Shortcut::kOnlineRates off).
class FreshRates {
 public:
  FreshRates(const std::vector<topology::LinkId>& link_of, std::vector<double> capacity, const Shortcuts& shortcuts)
      : link_of_(link_of), capacity_(std::move(capacity)), solver_(shortcuts) {}
  void add(std::span<const std::uint32_t> links, std::span<const double> weights, double cap) {
    items_.push_back({{links.begin(), links.end()}, {weights.begin(), weights.end()}, cap});
  }
  void open(std::uint32_t item) { open_.push_back(item); }
  void close(std::uint32_t item) { std::erase(open_, item); }
  void settle(std::int64_t /*now_ps*/) {
    solver_.clear();
    for (const std::uint32_t i : open_) solver_.add_fluid(items_[i].links, items_[i].weights, items_[i].cap);
    solver_.solve(capacity_);
    for (std::size_t i = 0; i < open_.size(); ++i) items_[open_[i]].rate = solver_.rates()[i];
  }
  std::span<const std::uint32_t> changed() const { return open_; }
  double rate(std::uint32_t item) const { return items_[item].rate; }
  /// A full link on which none is faster; kNone: its cap holds it back, or nothing.
  topology::LinkId held_by(std::uint32_t item) const {
    constexpr double kFull = 1 - 1e-9;
    for (const std::uint32_t l : items_[item].links) {
      double used = 0, fastest = items_[item].rate;
      for (const std::uint32_t i : open_)
        for (std::size_t k = 0; k < items_[i].links.size(); ++k)
          if (items_[i].links[k] == l)
            used += items_[i].weights[k] * items_[i].rate, fastest = std::max(fastest, items_[i].rate);
      if (used >= capacity_[l] * kFull && items_[item].rate >= fastest * kFull) return link_of_[l];
    }
    return kNone<topology::LinkId>;
  }

 private:
  struct Item {
    std::vector<std::uint32_t> links;
    std::vector<double> weights;
    double cap, rate = 0;
  };
  const std::vector<topology::LinkId>& link_of_;
  std::vector<double> capacity_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> open_;
  solve::MaxMinSolver solver_;
};

}  // namespace busbar::engine
