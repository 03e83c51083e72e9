#include "busbar/engine/max_min.h"

#include <algorithm>
#include <cmath>

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
  for (std::uint32_t i = begin_[fluid]; i < begin_[fluid + 1]; ++i) {
    const std::uint32_t l = link_[i];
    residual_[l] = std::max(0.0, residual_[l] - weight_[i] * rate);  // round-off never makes a link negative
    open_weight_[l] -= weight_[i];
    --open_[l];
  }
}

void MaxMinSolver::solve(std::span<const double> capacity) {
  const auto links = static_cast<std::uint32_t>(capacity.size());
  const auto fluids = static_cast<std::uint32_t>(cap_.size());
  residual_.assign(capacity.begin(), capacity.end());
  open_weight_.assign(links, 0.0);
  open_.assign(links, 0);
  rate_.assign(fluids, -1.0);
  fluid_begin_.assign(links + 1, 0);
  for (std::size_t i = 0; i < link_.size(); ++i) {
    open_weight_[link_[i]] += weight_[i];
    ++open_[link_[i]];
    ++fluid_begin_[link_[i] + 1];
  }
  for (std::uint32_t l = 0; l < links; ++l) fluid_begin_[l + 1] += fluid_begin_[l];
  fluid_of_.resize(link_.size());
  for (std::uint32_t f = fluids; f-- > 0;)  // backwards, so that begin can serve as the cursor
    for (std::uint32_t i = begin_[f]; i < begin_[f + 1]; ++i) fluid_of_[--fluid_begin_[link_[i] + 1]] = f;
  // fluid_begin_[l + 1] now is the first entry of link l; its end is the first entry of link l + 1.
  const auto later = [](const Entry& a, const Entry& b) {
    return a.level != b.level ? a.level > b.level : a.item > b.item;
  };
  heap_.clear();
  for (std::uint32_t l = 0; l < links; ++l)
    if (open_[l] > 0) heap_.push_back({residual_[l] / open_weight_[l], l});
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
    const std::uint32_t end =
        e.item + 1 < links ? fluid_begin_[e.item + 2] : static_cast<std::uint32_t>(fluid_of_.size());
    for (std::uint32_t i = fluid_begin_[e.item + 1]; i < end; ++i)
      if (rate_[fluid_of_[i]] < 0) fix(fluid_of_[i], e.level);
  }
  for (double& r : rate_)
    if (r < 0) r = INFINITY;  // crosses nothing and has no cap
}

}  // namespace busbar
