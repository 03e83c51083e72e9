// A call under adaptive routing: lowered until its loads are as even as a split can make them.
#include <utility>

#include "busbar/engine/adaptive.h"
#include "busbar/engine/lowering_state.h"

namespace busbar {

std::vector<double> Lowering::State::load_ps(const LoweredCall& call) const {
  std::vector<double> out(topology().link_count(), 0.0);
  for (const Stage& stage : call.stages)
    for (const Fluid& f : stage.fluids)
      for (std::uint32_t i = f.begin; i < f.end; ++i)
        if (!is_unit(stage.link[i])) out[index(stage.link[i])] += stage.weight[i] * f.bytes / rate_of(stage.link[i]);
  return out;
}

Result<LoweredCall> Lowering::lower(const CollectiveCall& call) {
  State& st = *state_;
  // Where all cables of a bundle carry the same, no other split is better.
  if (st.router.policy() != RoutingPolicy::kAdaptive || st.bundles) return lower_once(call);
  Trace* const trace = std::exchange(st.trace, nullptr);
  const Status leaned = lean_well(st.router, [&]() -> Result<SplitTrial> {
    BUSBAR_ASSIGN(const LoweredCall found, lower_once(call));
    return SplitTrial{closed_form_ps(found), st.load_ps(found)};
  });
  st.trace = trace;
  BUSBAR_RETURN_IF_ERROR(leaned);
  auto out = lower_once(call);
  st.router.set_lean({});
  return out;
}

}  // namespace busbar
