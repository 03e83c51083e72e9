#include "busbar/engine/max_min.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace busbar {

void MaxMinSolver::clear() {
  begin_.assign(1, 0);
  link_.clear();
  weight_.clear();
  cap_.clear();
}

void MaxMinSolver::add_fluid(std::span<const std::uint32_t> links, std::span<const double> weights, double cap) {
  link_.insert(link_.end(), links.begin(), links.end());
  weight_.insert(weight_.end(), weights.begin(), weights.end());
  begin_.push_back(static_cast<std::uint32_t>(link_.size()));
  cap_.push_back(cap);
}

void MaxMinSolver::fix(std::uint32_t fluid, double rate) {
  rate_[fluid] = rate;
  ++fixed_;
  for (std::uint32_t i = cross_begin_[fluid]; i < cross_begin_[fluid + 1]; ++i) {
    const std::uint32_t l = cross_[i];
    residual_[l] = std::max(0.0, residual_[l] - cross_weight_[i] * rate);  // round-off never makes a link negative
    open_weight_[l] -= cross_weight_[i];
    --open_[l];
  }
}

/// A link that could carry all its fluids, each as fast as its own narrowest link or its cap lets it, is never full; of
/// those that one fluid has for itself only the narrowest can be. The others say nothing about any rate.
void MaxMinSolver::find_narrow_links(std::span<const double> capacity) {
  constexpr double kSpare = 1e-9;  // relative; far above round-off
  const auto links = static_cast<std::uint32_t>(capacity.size());
  const auto fluids = static_cast<std::uint32_t>(cap_.size());
  demand_.assign(links, 0.0);
  crossed_.assign(links, 0);
  for (std::uint32_t f = 0; f < fluids; ++f) {
    double most = cap_[f];
    for (std::uint32_t i = begin_[f]; i < begin_[f + 1]; ++i) most = std::min(most, capacity[link_[i]] / weight_[i]);
    for (std::uint32_t i = begin_[f]; i < begin_[f + 1]; ++i) {
      demand_[link_[i]] += weight_[i] * most;
      ++crossed_[link_[i]];
    }
  }
  for (std::uint32_t l = 0; l < links; ++l)
    if (demand_[l] < capacity[l] * (1 - kSpare)) crossed_[l] = 0;
  for (std::uint32_t f = 0; f < fluids; ++f) {
    std::pair<double, std::uint32_t> narrowest{INFINITY, links};
    for (std::uint32_t i = begin_[f]; i < begin_[f + 1]; ++i) {
      if (crossed_[link_[i]] != 1) continue;
      crossed_[link_[i]] = 0;
      narrowest = std::min(narrowest, {capacity[link_[i]] / weight_[i], link_[i]});
    }
    if (narrowest.second < links) crossed_[narrowest.second] = 1;
  }
}

/// Gives the narrow links places in the order of their numbers, and makes the rows of links and of fluids.
void MaxMinSolver::index_narrow_links(std::span<const double> capacity) {
  const auto fluids = static_cast<std::uint32_t>(cap_.size());
  place_.resize(capacity.size());
  residual_.clear(), open_.clear(), fluid_begin_.assign(1, 0);
  for (std::uint32_t l = 0; l < capacity.size(); ++l) {
    if (crossed_[l] == 0) continue;
    place_[l] = static_cast<std::uint32_t>(residual_.size());
    residual_.push_back(capacity[l]);
    open_.push_back(crossed_[l]);
    fluid_begin_.push_back(fluid_begin_.back() + crossed_[l]);
  }
  open_weight_.assign(residual_.size(), 0.0);
  cross_.clear(), cross_weight_.clear(), cross_begin_.assign(1, 0);
  fluid_of_.resize(fluid_begin_.back());
  next_.assign(fluid_begin_.begin(), fluid_begin_.end());
  for (std::uint32_t f = 0; f < fluids; ++f) {
    for (std::uint32_t i = begin_[f]; i < begin_[f + 1]; ++i) {
      if (crossed_[link_[i]] == 0) continue;
      const std::uint32_t l = place_[link_[i]];
      cross_.push_back(l);
      cross_weight_.push_back(weight_[i]);
      open_weight_[l] += weight_[i];
      fluid_of_[next_[l]++] = f;
    }
    cross_begin_.push_back(static_cast<std::uint32_t>(cross_.size()));
  }
}

void MaxMinSolver::solve(std::span<const double> capacity) {
  find_narrow_links(capacity);
  index_narrow_links(capacity);
  const auto links = static_cast<std::uint32_t>(residual_.size());
  const auto fluids = static_cast<std::uint32_t>(cap_.size());
  rate_.assign(fluids, -1.0);
  const auto later = [](const Entry& a, const Entry& b) {
    return a.level != b.level ? a.level > b.level : a.item > b.item;
  };
  heap_.clear();
  for (std::uint32_t l = 0; l < links; ++l) heap_.push_back({residual_[l] / open_weight_[l], l});
  for (std::uint32_t f = 0; f < fluids; ++f)
    if (std::isfinite(cap_[f])) heap_.push_back({cap_[f], links + f});
  std::make_heap(heap_.begin(), heap_.end(), later);
  fixed_ = 0;
  while (fixed_ < fluids && !heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Entry e = heap_.back();
    heap_.pop_back();
    if (e.item >= links) {
      if (rate_[e.item - links] < 0) fix(e.item - links, e.level);
      continue;
    }
    if (open_[e.item] == 0) continue;
    const double level = residual_[e.item] / open_weight_[e.item];  // levels only rise while filling
    if (level > e.level) {
      heap_.push_back({level, e.item});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    for (std::uint32_t i = fluid_begin_[e.item]; i < fluid_begin_[e.item + 1]; ++i)
      if (rate_[fluid_of_[i]] < 0) fix(fluid_of_[i], e.level);
  }
  for (double& r : rate_)
    if (r < 0) r = INFINITY;  // crosses nothing and has no cap
}

}  // namespace busbar
