#include "busbar/engine/stage_solver.h"

#include <algorithm>

namespace busbar {

void StageSolver::begin(Rates rates) {
  if (local_.empty()) local_.assign(links_, 0);
  if (rates == Rates::kNew || rates_ == Rates::kNew) {
    for (const LinkId l : used_) local_[index(l)] = 0;
    used_.clear();
    capacity_.clear();
  }
  rates_ = rates;
  solver_.clear();
}

std::span<const double> StageSolver::solve() {
  solver_.solve(capacity_);
  return solver_.rates();
}

double run_component(StageSolver& solver, const Lowering& lowering, const Stage& stage, const Component& c,
                     double until_ps, std::vector<double>* remaining) {
  const std::uint32_t n = c.end - c.begin;
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
