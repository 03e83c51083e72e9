// Runs the fluids of one component, or of several stages that share links, on max-min fair rates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/base/shortcuts.h"
#include "busbar/base/stop_flag.h"
#include "busbar/lowering/lowering.h"
#include "busbar/solve/max_min.h"

namespace busbar::engine {

/// Gathers fluids, numbers their links densely and solves. Work space is kept; one per engine: add() must always say
/// the same rates.
class StageSolver {
 public:
  /// `capacities`: of all that Stage::on may name.
  explicit StageSolver(const routing::CapacityCounts& capacities, const Shortcuts& shortcuts = {},
                       StopFlag stop = nullptr)
      : capacities_(capacities), shortcuts_(shortcuts), stop_(stop), solver_(shortcuts) {}

  /// kAsBefore: what add() will be given says of every link what it said after the last
  /// begin() too, where that was with kAsBefore; numbers of links are kept then.
  enum class Rates : std::uint8_t { kNew, kAsBefore };
  void begin(Rates rates = Rates::kNew);
  /// `rate` gives bytes per ps of a capacity.
  template <typename Rate>
  void add(const lowering::Stage& stage, std::uint32_t fluid, const Rate& rate) {
    const lowering::Fluid& f = stage.fluids[fluid];
    const std::uint32_t size = f.end - f.begin;
    add(std::span(stage.on).subspan(f.begin, size), std::span(stage.weight).subspan(f.begin, size), f.cap(), rate);
  }
  template <typename Rate>
  void add(std::span<const routing::CapacityId> on, std::span<const double> weights, double cap, const Rate& rate) {
    scratch_.clear();
    for (const routing::CapacityId c : on) {
      std::uint32_t& l = local_[c];
      if (l == 0) {
        used_.push_back(c);
        capacity_.push_back(rate(c));
        l = static_cast<std::uint32_t>(used_.size());
      }
      scratch_.push_back(l - 1);
    }
    solver_.add_fluid(scratch_, weights, cap);
  }
  /// Rates in bytes per ps of the busiest connection, in order of add().
  std::span<const double> solve();
  /// The i-th of those added has ended; solve_again() gives the rates of the others.
  void close(std::uint32_t i) { solver_.close(i); }
  std::span<const double> solve_again();
  std::size_t crossings() const { return solver_.crossings(); }
  const Shortcuts& shortcuts() const { return shortcuts_; }
  bool interrupted() const { return stops(stop_); }

 private:
  routing::CapacityCounts capacities_;
  Shortcuts shortcuts_;
  StopFlag stop_;
  routing::PerCapacity<std::uint32_t> local_;  ///< made when first needed; 1 + dense number; 0: not met yet
  std::vector<routing::CapacityId> used_;
  std::vector<double> capacity_;
  std::vector<std::uint32_t> scratch_;
  Rates rates_ = Rates::kNew;  ///< of the fluids added
  solve::MaxMinSolver solver_;
};

/// Whether all fluids carry the same bytes. Then those on the link with the largest load / rate are slowest from start
/// to end: docs/models/flow.md.
bool same_bytes(const lowering::Stage& stage);

/// Time until every fluid of component `c` has ended, started together and alone. When `remaining` is given, stops at
/// `until_ps` and leaves what each member (in order of Stage::members) has yet to carry. Where every end on its own
/// would cost more than Shortcuts::most_visits, ends that are close together are taken as one. The result means nothing
/// once the solver is interrupted().
double run_component(StageSolver& solver, const lowering::CapacityTable& table, const lowering::Stage& stage,
                     const lowering::Component& c, double until_ps, std::vector<double>* remaining);

}  // namespace busbar::engine
