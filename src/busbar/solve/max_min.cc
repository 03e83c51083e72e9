// Three kinds of links cannot affect any rate. They are left out before the filling begins, which changes no bit:
// - A link that could carry all its fluids, each at the rate of its cap or its narrowest link, is never full.
// - Of the links that only one fluid uses, only the narrowest can be full.
// - Of several links that the same fluids cross with the same weights, only the narrowest can be full.
#include "busbar/solve/max_min.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "busbar/base/id.h"
#include "busbar/base/random.h"

namespace busbar::solve {
namespace {

constexpr double kSpare = 1e-9;      ///< relative; spare capacity of a link that never fills; far above rounding errors
constexpr double kNarrower = 1e-12;  ///< relative; likewise, for two links in series

}  // namespace

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

/// An upper bound of the fluid's rate.
double MaxMinSolver::most(std::uint32_t f, std::span<const double> capacity) const {
  if (cap_[f] < INFINITY) return cap_[f];
  double most = INFINITY;
  for (std::uint32_t i = begin_[f]; i < begin_[f + 1]; ++i) most = std::min(most, capacity[link_[i]] / weight_[i]);
  return most;
}

// HOT: bench ar-d-65536, after-load.
void MaxMinSolver::count_demand(std::span<const double> capacity) {
  if (links_.size() < capacity.size()) links_.resize(capacity.size());
  touched_.clear();
  for (std::uint32_t f = 0; f < cap_.size(); ++f) {
    const double rate = most(f, capacity);
    for (std::uint32_t i = begin_[f]; i < begin_[f + 1]; ++i) {
      Link& link = links_[link_[i]];
      if (link.crossed++ == 0) {
        touched_.push_back(link_[i]);
        link.demand = 0;
        link.weight = weight_[i];
        link.number = f;
      }
      link.demand += weight_[i] * rate;
    }
  }
}

void MaxMinSolver::drop_idle(std::span<const double> capacity) {
  const bool leave_idle = shortcuts_.has(Shortcut::kIdleLinks), leave_private = shortcuts_.has(Shortcut::kPrivateLinks);
  narrowest_.assign(cap_.size(), INFINITY);
  by_.assign(cap_.size(), kNone32);
  std::size_t kept = 0;
  for (const std::uint32_t l : touched_) {
    Link& link = links_[l];
    const std::uint32_t f = link.number;
    const double level = capacity[l] / link.weight;
    const bool idle = leave_idle && link.demand < capacity[l] * (1 - kSpare);
    if (idle || (leave_private && link.crossed == 1 && level >= narrowest_[f])) {
      shortcuts_.take(idle ? Shortcut::kIdleLinks : Shortcut::kPrivateLinks);
      link.crossed = 0;
      continue;
    }
    touched_[kept++] = l;
    if (link.crossed > 1 || !leave_private) continue;
    if (by_[f] != kNone32) links_[by_[f]].crossed = 0;
    narrowest_[f] = level;
    by_[f] = l;
  }
  touched_.resize(kept);
}

/// Makes a row for each remaining link: the fluids that cross it.
void MaxMinSolver::make_rows(std::span<const double> capacity) {
  row_capacity_.clear(), open_.clear(), row_begin_.assign(1, 0);
  for (const std::uint32_t l : touched_) {
    if (links_[l].crossed == 0) continue;
    links_[l].number = static_cast<std::uint32_t>(row_capacity_.size());
    row_capacity_.push_back(capacity[l]);
    open_.push_back(links_[l].crossed);
    row_begin_.push_back(row_begin_.back() + links_[l].crossed);
  }
  row_hash_.assign(row_capacity_.size(), 0);
  row_fluid_.resize(row_begin_.back());
  row_weight_.resize(row_begin_.back());
  next_.assign(row_begin_.begin(), row_begin_.end());
  for (std::uint32_t f = 0; f < cap_.size(); ++f)
    for (std::uint32_t i = begin_[f]; i < begin_[f + 1]; ++i) {
      const Link& link = links_[link_[i]];
      if (link.crossed == 0) continue;
      const std::uint32_t row = link.number;
      row_fluid_[next_[row]] = f;
      row_weight_[next_[row]++] = weight_[i];
      row_hash_[row] = mix64(row_hash_[row] ^ f) + std::bit_cast<std::uint64_t>(weight_[i]);
    }
  for (const std::uint32_t l : touched_) links_[l].crossed = 0;
}

bool MaxMinSolver::same_row(std::uint32_t a, std::uint32_t b) const {
  const auto row = [&](const auto& values, std::uint32_t r) {
    return std::span(values).subspan(row_begin_[r], row_begin_[r + 1] - row_begin_[r]);
  };
  return row_hash_[a] == row_hash_[b] && std::ranges::equal(row(row_fluid_, a), row(row_fluid_, b)) &&
         std::ranges::equal(row(row_weight_, a), row(row_weight_, b));
}

/// Dropped rows have no open fluids.
void MaxMinSolver::drop_in_series() {
  const std::size_t slots = std::bit_ceil(2 * row_capacity_.size() + 1);
  table_.assign(slots, 0);
  for (std::uint32_t r = 0; r < row_capacity_.size(); ++r)
    for (std::size_t at = mix64(row_hash_[r]) % slots;; at = (at + 1) % slots) {
      if (table_[at] == 0) {
        table_[at] = 1 + r;
        break;
      }
      const std::uint32_t other = table_[at] - 1;
      if (!same_row(r, other)) continue;
      if (row_capacity_[r] == row_capacity_[other] || row_capacity_[r] > row_capacity_[other] * (1 + kNarrower)) {
        shortcuts_.take(Shortcut::kLinksInSeries);
        open_[r] = 0;
        break;
      }
      if (row_capacity_[r] * (1 + kNarrower) < row_capacity_[other]) {
        shortcuts_.take(Shortcut::kLinksInSeries);
        open_[other] = 0;
        table_[at] = 1 + r;
        break;
      }
    }
}

/// Lists for each fluid its remaining rows.
void MaxMinSolver::transpose_rows() {
  cross_begin_.assign(cap_.size() + 1, 0);
  const auto each = [&](auto&& take) {
    for (std::uint32_t r = 0; r < open_.size(); ++r)
      for (std::uint32_t i = row_begin_[r]; open_[r] > 0 && i < row_begin_[r + 1]; ++i) take(r, i);
  };
  each([&](std::uint32_t, std::uint32_t i) { ++cross_begin_[row_fluid_[i] + 1]; });
  for (std::size_t f = 0; f < cap_.size(); ++f) cross_begin_[f + 1] += cross_begin_[f];
  cross_.resize(cross_begin_.back());
  cross_weight_.resize(cross_begin_.back());
  next_.assign(cross_begin_.begin(), cross_begin_.end());
  each([&](std::uint32_t r, std::uint32_t i) {
    const std::uint32_t at = next_[row_fluid_[i]]++;
    cross_[at] = r;
    cross_weight_[at] = row_weight_[i];
  });
}

void MaxMinSolver::fix(std::uint32_t fluid, double rate) {
  rate_[fluid] = rate;
  ++fixed_;
  for (std::uint32_t i = cross_begin_[fluid]; i < cross_begin_[fluid + 1]; ++i) {
    const std::uint32_t l = cross_[i];
    residual_[l] = std::max(0.0, residual_[l] - cross_weight_[i] * rate);  // rounding never makes a link negative
    open_weight_[l] -= cross_weight_[i];
    --open_[l];
  }
}

void MaxMinSolver::solve(std::span<const double> capacity) {
  // The links that can affect a rate, as rows:
  count_demand(capacity);
  drop_idle(capacity);
  make_rows(capacity);
  if (shortcuts_.has(Shortcut::kLinksInSeries)) drop_in_series();
  transpose_rows();
  rate_.assign(cap_.size(), 0.0);
  all_by_cap_.clear();
  for (std::uint32_t f = 0; f < cap_.size(); ++f)
    if (std::isfinite(cap_[f])) all_by_cap_.push_back(f);
  std::ranges::sort(all_by_cap_, {}, [&](std::uint32_t f) { return std::pair(cap_[f], f); });
  reopen();
  solve_again();
}

void MaxMinSolver::reopen() {
  closed_.assign(cap_.size(), false);
  live_.resize(cap_.size());
  std::iota(live_.begin(), live_.end(), 0u);
  by_cap_ = all_by_cap_;
  any_closed_ = false;
}

void MaxMinSolver::close(std::uint32_t fluid) {
  closed_[fluid] = any_closed_ = true;
  rate_[fluid] = 0;
}

void MaxMinSolver::solve_again() {
  if (std::exchange(any_closed_, false))
    for (auto* list : {&live_, &by_cap_}) std::erase_if(*list, [&](std::uint32_t f) { return closed_[f]; });
  residual_ = row_capacity_;
  open_weight_.assign(residual_.size(), 0.0);
  open_.assign(residual_.size(), 0);
  for (const std::uint32_t f : live_) {
    rate_[f] = -1;
    for (std::uint32_t i = cross_begin_[f]; i < cross_begin_[f + 1]; ++i) {
      open_weight_[cross_[i]] += cross_weight_[i];
      ++open_[cross_[i]];
    }
  }
  fill();
  for (const std::uint32_t f : live_)
    if (rate_[f] < 0) rate_[f] = INFINITY;  // crosses nothing and has no cap
}

/// Takes the fullest link or the least cap, whichever level is lower, until every live fluid has its rate.
void MaxMinSolver::fill() {
  const auto later = [](const Entry& a, const Entry& b) {
    return a.level != b.level ? a.level > b.level : a.row > b.row;
  };
  heap_.clear();
  for (std::uint32_t r = 0; r < residual_.size(); ++r)
    if (open_[r] > 0) heap_.push_back({residual_[r] / open_weight_[r], r});
  std::make_heap(heap_.begin(), heap_.end(), later);
  auto next_cap = by_cap_.begin();
  for (fixed_ = 0; fixed_ < live_.size();) {
    while (next_cap != by_cap_.end() && rate_[*next_cap] >= 0) ++next_cap;
    if (next_cap != by_cap_.end() && (heap_.empty() || cap_[*next_cap] < heap_.front().level)) {
      fix(*next_cap, cap_[*next_cap]);
      continue;
    }
    if (heap_.empty()) return;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Entry e = heap_.back();
    heap_.pop_back();
    if (open_[e.row] == 0) continue;
    const double level = residual_[e.row] / open_weight_[e.row];  // levels only rise while filling
    if (level > e.level) {
      heap_.push_back({level, e.row});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    for (std::uint32_t i = row_begin_[e.row]; i < row_begin_[e.row + 1]; ++i)
      if (rate_[row_fluid_[i]] < 0) fix(row_fluid_[i], e.level);
  }
}

}  // namespace busbar::solve
