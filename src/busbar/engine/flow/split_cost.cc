#include "busbar/engine/flow/internal/split_cost.h"

#include <algorithm>

#include "busbar/lowering/adaptive.h"

namespace busbar::engine {
namespace {

std::span<const double> solved(StageSolver& solver, std::span<const lowering::Stage* const> stages, const auto& rate) {
  solver.begin();
  for (const lowering::Stage* s : stages)
    for (std::uint32_t f = 0; f < s->fluids.size(); ++f) solver.add(*s, f, rate);
  return solver.solve();
}

}  // namespace

void SplitCost::measure_demand(std::span<const lowering::Stage* const> stages) {
  constexpr double kRoom = 1e12;  // bytes per ps
  const auto rate = [this](routing::CapacityId c) {
    return c.is_link() && lowering::between_switches(topology_, c.link()) ? kRoom : rate_(c);
  };
  const auto rates = solved(roomy_, stages, rate);
  demand_.assign(rates.begin(), rates.end());
}

SplitOutcome SplitCost::of(std::span<const lowering::Stage* const> stages) {
  SplitOutcome out;
  const auto rates = solved(solver_, stages, rate_);
  out.load.assign(topology_.link_count(), 0.0);
  std::size_t next = 0;
  for (const lowering::Stage* s : stages) {
    double slowest = 0;
    for (const lowering::Fluid& f : s->fluids) {
      const double demand = demand_[next];
      slowest = std::max(slowest, demand / rates[next++]);
      for (std::uint32_t i = f.begin; i < f.end; ++i)
        if (s->on[i].is_link()) out.load[index(s->on[i].link())] += s->weight[i] * demand / rate_(s->on[i]);
    }
    out.cost += slowest;
  }
  return out;
}

}  // namespace busbar::engine
