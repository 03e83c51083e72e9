// A component run to its end: by the general solver where it is small, else over its narrow links alone.
#include <algorithm>
#include <cmath>
#include <utility>

#include "busbar/engine/stage_solver.h"

namespace busbar {
namespace {

/// Fluids that share links, over those links that can be full: fewer fluids never fill a link that more did not.
/// Invariant: a fluid that has ended is in no row that is made afterwards.
class NarrowRun {
 public:
  NarrowRun(const Lowering& lowering, const Stage& stage, const Component& c)
      : lowering_(lowering), stage_(stage), first_(c.begin), number_(lowering.capacities(), kNone) {
    const std::uint32_t n = c.end - c.begin;
    for (std::uint32_t m = 0; m < n; ++m) left_.push_back(fluid(m).bytes), open_.push_back(m);
    rate_.assign(n, 0.0);
    cap_.assign(n, 0.0);
    rebuild();
  }

  /// Returns the time at which all have ended, at most `until_ps`.
  double run(double until_ps) {
    double now = 0;
    find_busiest();
    const double least_step = shortest_step();
    bool always_full = true, ends_last = false;
    while (!open_.empty() && now < until_ps) {
      if (open_.size() * 2 < built_) rebuild();
      solve();
      double first = INFINITY, last = 0;
      for (const std::uint32_t f : open_) {
        first = std::min(first, left_[f] / rate_[f]);
        last = std::max(last, left_[f] / rate_[f]);
      }
      if (least_step > 0) always_full = always_full && busiest_is_full(last, ends_last);
      const double step = std::min({std::max(first, least_step), last, until_ps - now});
      for (const std::uint32_t f : open_) {
        left_[f] -= rate_[f] * step;
        if (left_[f] <= 1e-9 * fluid(f).bytes) left_[f] = 0;  // round-off of one part in 1e9 is an end
      }
      std::erase_if(open_, [&](std::uint32_t f) { return left_[f] == 0; });
      now += step;
    }
    // Where ends were taken together, their time is known better: a link that is full until the last end takes its load
    // / rate.
    return open_.empty() && least_step > 0 && always_full && ends_last ? busiest_ps_ : now;
  }
  std::vector<double> left() && { return std::move(left_); }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffffu;
  struct Entry {
    double level;
    std::uint32_t link;
    bool operator<(const Entry& o) const { return level != o.level ? level > o.level : link > o.link; }
  };

  const Fluid& fluid(std::uint32_t f) const { return stage_.fluids[stage_.members[first_ + f]]; }

  /// Ends that are closer together than this are taken as one. Nothing where every end can have a solve of its own;
  /// else as much of the largest load / rate as bounds the work. What has ended in between leaves its share idle until
  /// then.
  double shortest_step() const {
    constexpr double kMostVisits = 3e8;  // some two seconds
    const double visits = static_cast<double>(cross_.size() + open_.size());
    if (visits * static_cast<double>(open_.size()) / 2 <= kMostVisits) return 0;
    return busiest_ps_ * visits / kMostVisits;
  }

  /// The narrow link with the largest load / rate, and who crosses it.
  void find_busiest() {
    std::vector<double> load(capacity_.size(), 0.0);
    for (const std::uint32_t f : open_)
      for (std::uint32_t i = begin_[f]; i < end_[f]; ++i)
        load[cross_[i]] += weight_[i] * left_[f] / capacity_[cross_[i]];
    const auto most = std::max_element(load.begin(), load.end());
    if (most == load.end()) return;
    const auto busiest = static_cast<std::uint32_t>(most - load.begin());
    busiest_ps_ = *most;
    for (const std::uint32_t f : open_)
      for (std::uint32_t i = begin_[f]; i < end_[f]; ++i)
        if (cross_[i] == busiest) on_busiest_.emplace_back(f, weight_[i] / capacity_[busiest]);
  }

  /// `last`: until the last end at the rates of now. `ends_last`: whether that is of one that crosses the link.
  bool busiest_is_full(double last, bool& ends_last) const {
    double used = 0;
    ends_last = false;
    for (const auto& [f, weight] : on_busiest_) {
      if (left_[f] == 0) continue;
      used += weight * rate_[f];
      ends_last = ends_last || left_[f] / rate_[f] >= last * (1 - 1e-9);
    }
    return used >= 1 - 1e-9;
  }

  /// Finds the narrow links of the open fluids and makes both rows.
  void rebuild() {
    constexpr double kSpare = 1e-9;  // relative; far above round-off
    built_ = open_.size();
    std::vector<LinkId> used;
    std::vector<double> demand;
    std::vector<std::uint32_t> crossed;
    for (const std::uint32_t f : open_) {
      const Fluid& x = fluid(f);
      double most = x.cap();
      for (std::uint32_t i = x.begin; i < x.end; ++i)
        most = std::min(most, lowering_.rate(stage_.link[i]) / stage_.weight[i]);
      for (std::uint32_t i = x.begin; i < x.end; ++i) {
        std::uint32_t& l = number_[index(stage_.link[i])];
        if (l == kNone) {
          l = static_cast<std::uint32_t>(used.size());
          used.push_back(stage_.link[i]);
          demand.push_back(0);
          crossed.push_back(0);
        }
        demand[l] += stage_.weight[i] * most;
        ++crossed[l];
      }
    }
    capacity_.clear();
    std::vector<std::uint32_t> place(used.size(), kNone);
    std::vector<std::uint32_t> counts;
    for (std::uint32_t l = 0; l < used.size(); ++l)
      if (crossed[l] > 1 && demand[l] >= lowering_.rate(used[l]) * (1 - kSpare)) {
        place[l] = static_cast<std::uint32_t>(capacity_.size());
        capacity_.push_back(lowering_.rate(used[l]));
        counts.push_back(crossed[l]);
      }
    index_rows(place, counts, crossed);
    for (const LinkId l : used) number_[index(l)] = kNone;
    by_cap_ = open_;
    std::sort(by_cap_.begin(), by_cap_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return cap_[a] != cap_[b] ? cap_[a] < cap_[b] : a < b; });
  }

  /// A link that one fluid has for itself is a cap of it.
  void index_rows(std::span<const std::uint32_t> place, std::span<const std::uint32_t> counts,
                  std::span<const std::uint32_t> crossed) {
    row_.assign(1, 0);
    for (const std::uint32_t n : counts) row_.push_back(row_.back() + n);
    std::vector<std::uint32_t> next(row_.begin(), row_.end());
    of_row_.resize(row_.back());
    begin_.assign(left_.size(), 0), end_.assign(left_.size(), 0);
    cross_.clear(), weight_.clear();
    for (const std::uint32_t f : open_) {
      const Fluid& x = fluid(f);
      begin_[f] = static_cast<std::uint32_t>(cross_.size());
      cap_[f] = x.cap();
      for (std::uint32_t i = x.begin; i < x.end; ++i) {
        const std::uint32_t l = number_[index(stage_.link[i])];
        if (crossed[l] == 1) cap_[f] = std::min(cap_[f], lowering_.rate(stage_.link[i]) / stage_.weight[i]);
        if (place[l] == kNone) continue;
        cross_.push_back(place[l]);
        weight_.push_back(stage_.weight[i]);
        of_row_[next[place[l]]++] = f;
      }
      end_[f] = static_cast<std::uint32_t>(cross_.size());
    }
  }

  void fix(std::uint32_t f, double rate) {
    rate_[f] = rate;
    for (std::uint32_t i = begin_[f]; i < end_[f]; ++i) {
      const std::uint32_t l = cross_[i];
      residual_[l] = std::max(0.0, residual_[l] - weight_[i] * rate);  // round-off never makes a link negative
      open_weight_[l] -= weight_[i];
      --waiting_[l];
    }
  }

  /// Max-min fair rates of the open fluids by progressive filling, as MaxMinSolver.
  void solve() {
    residual_ = capacity_;
    open_weight_.assign(capacity_.size(), 0.0);
    waiting_.assign(capacity_.size(), 0);
    for (const std::uint32_t f : open_) {
      rate_[f] = -1;
      for (std::uint32_t i = begin_[f]; i < end_[f]; ++i) open_weight_[cross_[i]] += weight_[i], ++waiting_[cross_[i]];
    }
    heap_.clear();
    for (std::uint32_t l = 0; l < capacity_.size(); ++l)
      if (waiting_[l] > 0) heap_.push_back({residual_[l] / open_weight_[l], l});
    std::make_heap(heap_.begin(), heap_.end());
    std::size_t capped = 0;
    const auto next_cap = [&] {
      while (capped < by_cap_.size() && (left_[by_cap_[capped]] == 0 || rate_[by_cap_[capped]] >= 0)) ++capped;
      return capped < by_cap_.size();
    };
    while (next_cap()) {  // every fluid has a cap
      const std::uint32_t f = by_cap_[capped];
      if (heap_.empty() || cap_[f] < heap_.front().level) {
        fix(f, cap_[f]);
        continue;
      }
      std::pop_heap(heap_.begin(), heap_.end());
      const Entry e = heap_.back();
      heap_.pop_back();
      if (waiting_[e.link] == 0) continue;
      const double level = residual_[e.link] / open_weight_[e.link];  // levels only rise while filling
      if (level > e.level) {
        heap_.push_back({level, e.link});
        std::push_heap(heap_.begin(), heap_.end());
        continue;
      }
      for (std::uint32_t i = row_[e.link]; i < row_[e.link + 1]; ++i)
        if (const std::uint32_t x = of_row_[i]; left_[x] > 0 && rate_[x] < 0) fix(x, e.level);
    }
  }

  const Lowering& lowering_;
  const Stage& stage_;
  std::uint32_t first_;
  std::vector<std::uint32_t> number_;  ///< of a link among those in use; kNone between rebuilds
  std::vector<double> left_, rate_, cap_;
  std::vector<std::uint32_t> open_, by_cap_;
  std::size_t built_ = 0;                                     ///< open fluids then
  double busiest_ps_ = 0;                                     ///< largest load / rate
  std::vector<std::pair<std::uint32_t, double>> on_busiest_;  ///< fluids, and weight / rate there
  // Of the open fluids: their narrow links, and per narrow link its fluids.
  std::vector<std::uint32_t> begin_, end_, cross_, row_, of_row_;
  std::vector<double> weight_, capacity_;
  std::vector<double> residual_, open_weight_;
  std::vector<std::uint32_t> waiting_;
  std::vector<Entry> heap_;
};

}  // namespace

double run_component(StageSolver& solver, const Lowering& lowering, const Stage& stage, const Component& c,
                     double until_ps, std::vector<double>* remaining) {
  constexpr std::uint32_t kFew = 256;  // whose solves cost less than tables of all links
  const std::uint32_t n = c.end - c.begin;
  if (n > kFew) {
    NarrowRun large(lowering, stage, c);
    const double end_ps = large.run(until_ps);
    if (remaining) *remaining = std::move(large).left();
    return end_ps;
  }
  std::vector<double> left(n);
  for (std::uint32_t m = 0; m < n; ++m) left[m] = stage.fluids[stage.members[c.begin + m]].bytes;
  std::vector<std::uint32_t> open;
  double now = 0;
  for (;;) {
    open.clear();
    solver.begin(StageSolver::Rates::kAsBefore);
    for (std::uint32_t m = 0; m < n; ++m)
      if (left[m] > 0) {
        open.push_back(m);
        solver.add(stage, stage.members[c.begin + m], [&](LinkId l) { return lowering.rate(l); });
      }
    if (open.empty() || now >= until_ps) break;
    const auto rates = solver.solve();
    double step = until_ps - now;
    for (std::size_t i = 0; i < open.size(); ++i) step = std::min(step, left[open[i]] / rates[i]);
    for (std::size_t i = 0; i < open.size(); ++i) {
      const double bytes = stage.fluids[stage.members[c.begin + open[i]]].bytes;
      left[open[i]] -= rates[i] * step;
      if (left[open[i]] <= 1e-9 * bytes) left[open[i]] = 0;  // round-off of one part in 1e9 is an end
    }
    now += step;
  }
  if (remaining) *remaining = std::move(left);
  return now;
}

}  // namespace busbar
