#include "busbar/engine/flow/internal/shared_split.h"

#include <cmath>

#include "busbar/lowering/adaptive.h"

namespace busbar::engine {
namespace {

/// Whether fluid i of the one is fluid i of the other by another way.
bool same_fluids(const lowering::Stage& a, const lowering::Stage& b) {
  constexpr double kAlike = 1e-9;
  if (a.fluids.size() != b.fluids.size()) return false;
  for (std::size_t f = 0; f < a.fluids.size(); ++f)
    if (std::abs(a.fluids[f].bytes - b.fluids[f].bytes) > kAlike * a.fluids[f].bytes) return false;
  return true;
}

}  // namespace

std::vector<lowering::Stage> split_together(lowering::Lowering& lowering, std::span<const SharedStage> stages) {
  const routing::Router& router = lowering.router();
  const lowering::CapacityTable& table = lowering.capacities();
  SplitCost split_cost(router.topology(), table.counts(), [&](routing::CapacityId c) { return table.rate(c); });
  std::vector<const lowering::Stage*> own, tried(stages.size());
  for (const SharedStage& s : stages) own.push_back(s.own);
  split_cost.measure_demand(own);
  constexpr double kWorthIt = 1e-4;
  const auto least_possible = static_cast<double>(own.size());
  double least = split_cost.of(own).cost * (1 - kWorthIt);
  std::vector<lowering::Stage> best;
  if (least <= least_possible) return best;
  for (lowering::SplitSearch search; !search.over();) {
    std::vector<lowering::Stage> trial;
    for (const SharedStage& s : stages) {
      Result<lowering::Stage> stage = lowering.lower_step(*s.call, s.own->step, search.bias());
      if (!stage.ok() || !same_fluids(*stage, *s.own)) return {};
      trial.push_back(std::move(*stage));
    }
    for (std::size_t i = 0; i < trial.size(); ++i) tried[i] = &trial[i];
    const SplitOutcome found = split_cost.of(tried);
    search.record(router.topology(), found.cost, found.load, least_possible);
    if (found.cost < least) least = found.cost, best = std::move(trial);
  }
  return best;
}

}  // namespace busbar::engine
