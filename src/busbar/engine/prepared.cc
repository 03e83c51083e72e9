#include "busbar/engine/prepared.h"

#include <algorithm>
#include <cmath>

namespace busbar {

PreparedCalls::PreparedCalls(const Router& router, const Placement& placement, const EngineOptions& options)
    : topology_(router.topology()),
      lowering_(router, placement, options.protocol, options.fold),
      solver_(lowering_.capacities()) {
  lowering_.set_what_if(options.what_if);
  lowering_.set_delays(options.delays);
}

Result<CallId> PreparedCalls::prepare(const CollectiveCall& call) {
  for (std::uint32_t i = 0; i < calls_.size(); ++i)
    if (calls_[i]->call == call) return static_cast<CallId>(i);
  BUSBAR_ASSIGN(LoweredCall lowered, lowering_.lower(call));
  calls_.push_back(std::make_unique<LoweredCall>(std::move(lowered)));
  return static_cast<CallId>(calls_.size() - 1);
}

std::vector<double> PreparedCalls::flow_stage_ps(const LoweredCall& call) {
  std::vector<double> out;
  for (const Stage& stage : call.stages) {
    double longest = 0;
    for (std::uint32_t c = 0; c < stage.components.size(); ++c) {
      const Component& component = stage.components[c];
      if (component.like != c) continue;  // its likeness has been run
      const bool single = component.end - component.begin == 1;
      // One fluid by itself: its time alone already holds its own links' loads.
      longest = std::max(longest, single ? stage.fluids[stage.members[component.begin]].alone_ps
                                         : run_component(solver_, lowering_, stage, component, INFINITY, nullptr));
    }
    out.push_back(longest);
  }
  return out;
}

Bound PreparedCalls::bound_by(CallId id) const { return bound_of(lowered(id)); }

void PreparedCalls::add_link_bytes(CallId id, double times, std::vector<double>& bytes) const {
  for (const Stage& s : lowered(id).stages)
    for (const Fluid& f : s.fluids)
      for (std::uint32_t i = f.begin; i < f.end; ++i)
        if (index(s.link[i]) < bytes.size()) bytes[index(s.link[i])] += times * s.weight[i] * f.bytes;
}

}  // namespace busbar
