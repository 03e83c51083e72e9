// A call under adaptive routing: lowered until the loads of each stage are as even as a split can make them.
#include <utility>

#include "busbar/lowering/adaptive.h"
#include "busbar/lowering/internal/lowering_state.h"

namespace busbar {

std::vector<double> Lowering::State::load_ps(const Stage& stage) const {
  std::vector<double> out(topology().link_count(), 0.0);
  for (const Fluid& f : stage.fluids)
    for (std::uint32_t i = f.begin; i < f.end; ++i)
      if (stage.on[i].is_link()) out[index(stage.on[i].link())] += stage.weight[i] * f.bytes / table.rate(stage.on[i]);
  return out;
}

namespace {

/// A stage of `ps` whose links have these loads takes no less under any split: links that cannot be avoided stay as
/// busy as they are, and what hardly loads the others gains nothing there.
double least_by_any_split(const Topology& t, std::span<const double> load_ps, const Stage& stage, double ps) {
  constexpr double kHardly = 1e-3;
  double avoidable = 0, certain = 0;
  for (std::uint32_t l = 0; l < load_ps.size(); ++l) {
    double& most = between_switches(t, static_cast<LinkId>(l)) ? avoidable : certain;
    most = std::max(most, load_ps[l]);
  }
  return avoidable <= kHardly * ps ? ps : certain + stage.latency_ps;  // the shortest ways have the least latency
}

}  // namespace

/// Where all cables of a bundle carry the same, no other split is better.
bool Lowering::splits() const { return router().policy() == RoutingPolicy::kAdaptive && !state_->table.bundles(); }

Result<LoweredCall> Lowering::lower(const CollectiveCall& call) {
  State& st = *state_;
  if (!splits()) return lower_once(call);
  Trace* const trace = std::exchange(st.trace, nullptr);
  std::vector<SplitSearch> steps(1);
  Result<LoweredCall> found = invalid("nothing was tried");
  for (bool more = true; more;) {  // all steps at once, each with a search of its own
    st.biases.clear();
    for (const SplitSearch& s : steps) st.biases.push_back(s.over() ? s.best() : s.bias());
    found = lower_once(call);
    more = false;
    if (!found.ok()) break;
    for (const Stage& stage : found->stages) {
      if (stage.step >= steps.size()) steps.resize(stage.step + 1);
      SplitSearch& s = steps[stage.step];
      if (s.over()) continue;
      const std::vector<double> load_ps = st.load_ps(stage);
      const double ps = std::max(stage.slowest_alone_ps, stage.load_ps) + stage.latency_ps;
      s.record(st.topology(), ps, load_ps, least_by_any_split(st.topology(), load_ps, stage, ps));
      more = true;
    }
  }
  st.trace = trace;
  if (found.ok() && trace) found = lower_once(call);
  st.biases.clear();
  return found;
}

Result<Stage> Lowering::lower_step(const CollectiveCall& call, std::uint32_t step, const SplitBias& bias) {
  State& st = *state_;
  Trace* const trace = std::exchange(st.trace, nullptr);
  st.only = step;
  st.biases.assign(step + 1, bias);
  Result<LoweredCall> found = lower_once(call);
  st.only.reset();
  st.biases.clear();
  st.trace = trace;
  if (!found.ok()) return found.error();
  if (found->stages.size() != 1) return invalid("no such stage");
  return std::move(found->stages[0]);
}

}  // namespace busbar
