// A component run to its end, from one end of a fluid to the next.
#include <algorithm>
#include <cmath>
#include <utility>

#include "busbar/engine/stage_solver.h"

namespace busbar::engine {
namespace {

class ComponentRun {
 public:
  ComponentRun(StageSolver& solver, const lowering::CapacityTable& table, const lowering::Stage& stage,
               const lowering::Component& c)
      : solver_(solver), table_(table), stage_(stage), first_(c.begin) {
    for (std::uint32_t m = 0; m < c.end - c.begin; ++m) left_.push_back(fluid(m).bytes), open_.push_back(m);
  }

  /// Returns the time at which all have ended, at most `until_ps`.
  double run(double until_ps) {
    double now = 0;
    add_open();
    std::span<const double> rates = solver_.solve();
    const double least_step = shortest_step();
    bool always_full = true, ends_last = false;
    while (!open_.empty() && now < until_ps && !solver_.interrupted()) {
      double first = INFINITY, last = 0;
      for (const std::uint32_t f : open_) {
        first = std::min(first, left_[f] / rates[place_[f]]);
        last = std::max(last, left_[f] / rates[place_[f]]);
      }
      if (least_step > 0) always_full = always_full && busiest_is_full(rates, last, ends_last);
      const double step = std::min({std::max(first, least_step), last, until_ps - now});
      for (const std::uint32_t f : open_) {
        left_[f] -= rates[place_[f]] * step;
        if (left_[f] > 1e-9 * fluid(f).bytes) continue;  // round-off of one part in 1e9 is an end
        left_[f] = 0;
        solver_.close(place_[f]);
      }
      std::erase_if(open_, [&](std::uint32_t f) { return left_[f] == 0; });
      now += step;
      if (open_.empty()) break;
      const bool few = open_.size() * 2 < added_;
      const bool again = !few && solver_.shortcuts().take(Shortcut::kRatesAfterAnEnd);
      rates = again ? solver_.solve_again() : (add_open(), solver_.solve());
    }
    // Where ends were taken together, their time is known better: a link that is full until the last end takes its load
    // / rate.
    return open_.empty() && least_step > 0 && always_full && ends_last ? busiest_ps_ : now;
  }
  std::vector<double> left() && { return std::move(left_); }

 private:
  const lowering::Fluid& fluid(std::uint32_t f) const { return stage_.fluids[stage_.members[first_ + f]]; }

  void add_open() {
    added_ = open_.size();
    place_.resize(left_.size());
    solver_.begin(StageSolver::Rates::kAsBefore);
    for (std::uint32_t i = 0; i < open_.size(); ++i) {
      place_[open_[i]] = i;
      solver_.add(stage_, stage_.members[first_ + open_[i]], [&](routing::CapacityId c) { return table_.rate(c); });
    }
  }

  /// Ends that are closer together than this are taken as one. Zero where every end can have a solve of its own; else
  /// such a part of the largest load / rate that the work is bounded. A fluid that has ended in between leaves its
  /// share idle until then.
  double shortest_step() {
    const double visits = static_cast<double>(solver_.crossings() + open_.size());
    const double most_visits = solver_.shortcuts().most_visits;
    if (visits * static_cast<double>(open_.size()) / 2 <= most_visits) return 0;
    if (!solver_.shortcuts().take(Shortcut::kEndsTakenTogether)) return 0;
    find_busiest();
    return busiest_ps_ * visits / most_visits;
  }

  template <typename Take>
  void each_link(std::uint32_t f, const Take& take) const {
    for (std::uint32_t i = fluid(f).begin; i < fluid(f).end; ++i) take(stage_.on[i], stage_.weight[i]);
  }

  /// The link with the largest load / rate, and the fluids that cross it.
  void find_busiest() {
    routing::PerCapacity<double> load_ps(table_.counts(), 0.0);
    routing::CapacityId busiest;
    for (const std::uint32_t f : open_)
      each_link(f, [&](routing::CapacityId l, double weight) {
        load_ps[l] += weight * left_[f] / table_.rate(l);
        if (load_ps[l] > busiest_ps_) busiest_ps_ = load_ps[l], busiest = l;
      });
    for (const std::uint32_t f : open_)
      each_link(f, [&](routing::CapacityId l, double weight) {
        if (l == busiest) on_busiest_.emplace_back(f, weight / table_.rate(l));
      });
  }

  /// `last`: until the last end at these rates. `ends_last`: whether that is of one that crosses the link.
  bool busiest_is_full(std::span<const double> rates, double last, bool& ends_last) const {
    double used = 0;
    ends_last = false;
    for (const auto& [f, weight] : on_busiest_) {
      if (left_[f] == 0) continue;
      used += weight * rates[place_[f]];
      ends_last = ends_last || left_[f] / rates[place_[f]] >= last * (1 - 1e-9);
    }
    return used >= 1 - 1e-9;
  }

  StageSolver& solver_;
  const lowering::CapacityTable& table_;
  const lowering::Stage& stage_;
  std::uint32_t first_;
  std::vector<double> left_;                                    ///< bytes, per member of the component
  std::vector<std::uint32_t> place_;                            ///< per member: its number in the solver
  std::vector<std::uint32_t> open_;                             ///< members that have not ended
  std::size_t added_ = 0;                                       ///< members in the solver
  double busiest_ps_ = 0;                                       ///< largest load / rate
  std::vector<std::pair<std::uint32_t, double>> on_busiest_{};  ///< members, and weight / rate there
};

}  // namespace

double run_component(StageSolver& solver, const lowering::CapacityTable& table, const lowering::Stage& stage,
                     const lowering::Component& c, double until_ps, std::vector<double>* remaining) {
  ComponentRun run(solver, table, stage, c);
  const double end_ps = run.run(until_ps);
  if (remaining) *remaining = std::move(run).left();
  return end_ps;
}

}  // namespace busbar::engine
