#include "busbar/engine/stage_solver.h"

#include <algorithm>
#include <cmath>

namespace busbar::engine {

void StageSolver::begin(Rates rates) {
  if (local_.empty()) local_ = {capacities_, 0};
  if (rates == Rates::kNew || rates_ == Rates::kNew) {
    for (const routing::CapacityId c : used_) local_[c] = 0;
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

std::span<const double> StageSolver::solve_again() {
  solver_.solve_again();
  return solver_.rates();
}

bool same_bytes(const lowering::Stage& stage) {
  return std::all_of(stage.fluids.begin(), stage.fluids.end(), [&](const lowering::Fluid& f) {
    return std::abs(f.bytes - stage.fluids[0].bytes) <= 1e-12 * f.bytes;  // round-off
  });
}

}  // namespace busbar::engine
