#include "busbar/lowering/lowering.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "busbar/collectives/builders.h"
#include "busbar/lowering/adaptive.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/internal/call_lowering.h"
#include "busbar/lowering/send_costs.h"

namespace busbar::lowering {
namespace {

std::vector<double> load_ps_of(const Stage& stage, const PlacedMachine& m) {
  std::vector<double> out(m.topology().link_count(), 0.0);
  for (const Fluid& f : stage.fluids)
    for (std::uint32_t i = f.begin; i < f.end; ++i)
      if (const routing::CapacityId c = stage.on[i]; c.is_link())
        out[index(c.link())] += stage.weight[i] * f.bytes / m.table.rate(c);
  return out;
}

/// A stage of `ps` whose links have these loads takes no less under any split: links that cannot be avoided stay as
/// busy as they are, and what hardly loads the others gains nothing there.
double least_by_any_split(const topology::Topology& t, std::span<const double> load_ps, const Stage& stage, double ps) {
  constexpr double kHardly = 1e-3;
  double avoidable = 0, certain = 0;
  for (std::uint32_t l = 0; l < load_ps.size(); ++l) {
    double& most = between_switches(t, static_cast<topology::LinkId>(l)) ? avoidable : certain;
    most = std::max(most, load_ps[l]);
  }
  return avoidable <= kHardly * ps ? ps : certain + stage.latency_ps;  // the shortest ways have the least latency
}

Result<collectives::Schedule> schedule_of(const program::CollectiveCall& call, const PlacedMachine& m,
                                          std::uint32_t per_domain) {
  if (call.schedule) return *call.schedule;
  const std::uint32_t most = call.channels == 0 ? most_channels(call, m.placement, m.protocol) : call.channels;
  return build_for_call(call, m.topology(), m.placement, per_domain, most);
}

Status check_placed(const program::CollectiveCall& call, const routing::Placement& placement) {
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t m = 0; m < call.groups.size(); ++m)
      if (const std::uint32_t rank = call.groups.actor(g, m); rank >= placement.ranks())
        return invalid(fmt::format("rank {} has no GPU: only {} are placed", rank, placement.ranks()));
  return {};
}

PlannedCall plan_call(const program::CollectiveCall& call, const collectives::Schedule& s, const PlacedMachine& m,
                      std::uint32_t per_domain) {
  PlannedCall plan{call, s, lanes_of(call, s, per_domain, m.placement, m.protocol)};
  const program::ProtocolCosts costs = costs_of(m.protocol, call.protocol);
  plan.sent.straight = 1 / costs.efficiency;
  plan.sent.to_switch = plan.sent.straight / costs.share_switch;
  plan.chunks = pipeline_chunks(call, s, m.protocol, s.channels * plan.lanes.count);
  plan.runs.resize(s.channels);
  for (const collectives::PhaseRun run : collectives::phase_runs(s))
    plan.runs[s.phases[run.begin].channel].push_back(run);
  return plan;
}

/// `loads`: work space.
double algorithm_floor_ps(const LoweredCall& call, std::span<const PlannedCall> plans, const PlacedMachine& m,
                          RunLoads& loads) {
  for (const Stage& stage : call.stages)
    for (const Fluid& f : stage.fluids)
      for (std::uint32_t i = f.begin; i < f.end; ++i) loads.add(stage.on[i], stage.weight[i] * f.bytes);
  double ps = 0;
  for (const routing::CapacityId l : loads.on())
    if (!l.is_device()) {
      if (l.is_bundle()) m.shortcuts.take(Shortcut::kBundles);
      ps = std::max(ps, loads[l] / m.table.wire_rate(l));
    }
  loads.clear();
  // Links to a switch that reduces carry more in the model than on the wire.
  const bool reduces = std::any_of(plans.begin(), plans.end(), [](const auto& p) { return p.schedule.reducers > 0; });
  return reduces ? ps * costs_of(m.protocol, plans.front().call.protocol).share_switch : ps;
}

}  // namespace

struct Lowering::State {
  program::ProtocolModel protocol;
  Shortcuts shortcuts;
  WhatIf what_if{};
  std::vector<LinkDelay> delays{};
  CapacityTable table;
  PlacedMachine machine;
  routing::PairSpread pair_spread;
  /// Made for the first call: an engine that takes all its calls over from another never needs it.
  std::optional<LoweringSpace> space{};
  StepChoice choice{};
  bool keeps_chains = false;
  std::vector<std::uint32_t> wanted_chains{};  ///< as ChainTrace::wanted
  bool follows_rings = true;
  std::optional<std::pair<collectives::GroupFamily, double>> first_link_ps{};  ///< of the last groups asked for

  State(const routing::Router& router, const routing::Placement& placement, const program::ProtocolModel& p,
        Shortcuts s, StopFlag stop)
      : protocol(p),
        shortcuts(std::move(s)),
        table(router, protocol, {}, {}, shortcuts),
        machine{router, placement, protocol, table, shortcuts, stop},
        pair_spread(router) {}
  void read_table() {
    table = CapacityTable(machine.router, protocol, what_if, delays, shortcuts);
    first_link_ps.reset();
  }
  std::uint32_t per_domain(const program::CollectiveCall& call) const {
    return ranks_per_domain(call, machine.topology(), machine.placement);
  }
  Result<LoweredCall> lower(const program::CollectiveCall& call);
  Result<LoweredCall> lower_well_split(const program::CollectiveCall& call, bool splits);
  double least_first_link_ps(const collectives::GroupFamily& groups);
  double measured_factor(const LoweredCall& call) const;
  void slow_down(LoweredCall& call) const;
};

Lowering::Lowering(const routing::Router& router, const routing::Placement& placement,
                   const program::ProtocolModel& protocol, Shortcuts shortcuts, StopFlag stop)
    : state_(new State(router, placement, protocol, std::move(shortcuts), stop)) {}
Lowering::~Lowering() = default;

void Lowering::set_what_if(const WhatIf& what_if) {
  state_->what_if = what_if;
  state_->read_table();
}

void Lowering::set_delays(std::span<const LinkDelay> delays) {
  state_->delays.assign(delays.begin(), delays.end());
  state_->space.reset();  // there may be other capacities now
  state_->read_table();
}

void Lowering::follow_rings(bool on) { state_->follows_rings = on; }
void Lowering::keep_chains(bool on) { state_->keeps_chains = on; }

const CapacityTable& Lowering::capacities() const { return state_->table; }
const program::ProtocolModel& Lowering::protocol() const { return state_->protocol; }
const routing::Router& Lowering::router() const { return state_->machine.router; }

/// Where all cables of a bundle carry the same, no other split is better.
bool Lowering::splits() const {
  return router().policy() == topology::RoutingPolicy::kAdaptive && !state_->table.bundles();
}

collectives::PlanLanes Lowering::lanes(const program::CollectiveCall& call, const collectives::Schedule& schedule) {
  const PlacedMachine& m = state_->machine;
  const Lanes lanes = lanes_of(call, schedule, state_->per_domain(call), m.placement, m.protocol);
  return {lanes.count, lanes.stride, m.placement.nic_channels()};
}

/// The least latency of a link that leaves a GPU of the groups: every send to another GPU begins with one. 0 where
/// ranks share a GPU.
double Lowering::State::least_first_link_ps(const collectives::GroupFamily& groups) {
  if (first_link_ps && first_link_ps->first == groups) return first_link_ps->second;
  double least = INFINITY;
  std::vector<topology::DeviceId> gpus;
  for (std::uint32_t g = 0; g < groups.groups(); ++g)
    for (std::uint32_t m = 0; m < groups.size(); ++m)
      if (const std::uint32_t rank = groups.actor(g, m); rank < machine.placement.ranks())
        gpus.push_back(machine.placement.gpu(rank));
  std::sort(gpus.begin(), gpus.end());
  if (std::adjacent_find(gpus.begin(), gpus.end()) != gpus.end()) least = 0;
  for (const topology::DeviceId gpu : gpus)
    for (const topology::LinkId l : machine.topology().out_links(gpu)) least = std::min(least, table.latency_ps(l));
  first_link_ps.emplace(groups, std::isfinite(least) ? least : 0.0);
  return first_link_ps->second;
}

double Lowering::least_ps(const program::CollectiveCall& call) {
  const PlacedMachine& m = state_->machine;
  if (m.protocol.measured) return 0;
  double slowest_ps = 0;
  for (const program::CollectiveCall& part : call.parts) slowest_ps = std::max(slowest_ps, least_ps(part));
  if (!call.parts.empty()) return slowest_ps;
  const std::uint32_t per_domain = state_->per_domain(call);
  const Result<collectives::Schedule> built = schedule_of(call, m, per_domain);
  if (!built.ok() || built->ranks != call.groups.size() || count(call.bytes) == 0) return 0;
  const collectives::Schedule& s = *built;
  const PlannedCall plan = plan_call(call, s, m, per_domain);
  if (plan.chunks != 1) return 0;
  const program::ProtocolCosts costs = costs_of(m.protocol, call.protocol);
  Duration least = std::min({costs.step_scale_up, costs.step_server, costs.step_network});
  if (s.reducers > 0) least = std::min({least, costs.step_switch, m.protocol.step_network});
  const double link_ps = s.reducers > 0 ? 0 : state_->least_first_link_ps(call.groups);
  const collectives::SendCost send{static_cast<double>(least.in_ps()) + link_ps, 0};
  double most_ps = 0;
  collectives::ChainScratch scratch;
  for (const std::vector<collectives::PhaseRun>& channel : plan.runs) {
    double ps = 0;
    for (const collectives::PhaseRun run : channel)
      if (collectives::coupling_of(plan.first_phase(run).pattern) != collectives::Coupling::kFree)
        ps += collectives::longest_chain(
            s, run, 0, [&](std::uint32_t, std::uint32_t) { return send; }, scratch);
    most_ps = std::max(most_ps, ps);
  }
  const Duration launch = launch_of(m.protocol, call.protocol, call.groups.size());
  return (static_cast<double>(launch.in_ps()) + most_ps) * call.slowdown;
}

Result<LoweredCall> Lowering::State::lower(const program::CollectiveCall& call) {
  BUSBAR_RETURN_IF_ERROR(check_placed(call, machine.placement));
  const auto parts = program::parts_of(call);
  std::vector<collectives::Schedule> built(parts.size());
  std::vector<PlannedCall> plans;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint32_t domain = per_domain(parts[i]);
    if (!parts[i].schedule) {
      BUSBAR_ASSIGN(built[i], schedule_of(parts[i], machine, domain));
    }
    const collectives::Schedule& s = parts[i].schedule ? *parts[i].schedule : built[i];
    if (s.ranks != call.groups.size() || s.op != call.op || s.root != call.root)
      return invalid("the schedule is for another call");
    plans.push_back(plan_call(parts[i], s, machine, domain));
    plans.back().follows_rings = follows_rings;
  }
  if (!space) space.emplace(machine);
  ChainTrace trace{wanted_chains};
  ChainTrace* const kept = keeps_chains ? &trace : nullptr;
  Result<std::vector<Stage>> stages = CallLowering(machine, pair_spread, *space, plans, choice, kept).stages();
  if (!stages.ok()) {
    space.reset();  // anything may be half done
    return stages.error();
  }
  LoweredCall out;
  out.call = call;
  for (const PlannedCall& plan : plans) {
    out.channels = std::max(out.channels, plan.schedule.channels * plan.lanes.count);
    out.chunks = std::max(out.chunks, plan.chunks);
  }
  out.stages = std::move(*stages);
  out.chains = std::move(trace.stages);
  for (const program::CollectiveCall& part : parts)
    out.launch_ps =
        std::max(out.launch_ps, static_cast<double>(launch_of(protocol, part.protocol, part.groups.size()).in_ps()));
  for (const Stage& stage : out.stages) out.launch_ps += stage.latency_ps;
  out.algorithm_floor_ps = algorithm_floor_ps(out, plans, machine, space->total);
  return out;
}

namespace {

void stretch(double factor, Stage& stage) {
  for (Fluid& f : stage.fluids) f.bytes *= factor, f.alone_ps *= factor;
  for (double* ps : {&stage.load_ps, &stage.slowest_alone_ps, &stage.latency_ps}) *ps *= factor;
}

}  // namespace

program::CallTraits call_traits(const LoweredCall& call, const topology::Topology& topology,
                                const routing::Placement& placement) {
  program::CallTraits out;
  const program::CollectiveCall& c = program::parts_of(call.call).front();
  out.op = c.op;
  out.ranks = c.groups.size();
  out.bytes = static_cast<double>(count(c.bytes));
  out.way = c.algorithm + " " + program::name_of(c.protocol);
  const auto block = [&](std::uint32_t m) { return topology.block_of(placement.gpu(c.groups.actor(0, m))); };
  for (std::uint32_t m = 1; m < out.ranks && !out.several_nodes; ++m) out.several_nodes = block(m) != block(0);
  for (const Stage& s : call.stages) out.bytes_share += s.load_ps;
  out.bytes_share = std::min(1.0, out.bytes_share / std::max(closed_form_ps(call), 1.0));
  return out;
}

/// Never below the floor of its schedule.
double Lowering::State::measured_factor(const LoweredCall& call) const {
  const double ps = closed_form_ps(call);
  if (!protocol.measured || ps <= 0) return 1;
  const double factor =
      std::exp(protocol.measured->ln_factor(call_traits(call, machine.topology(), machine.placement)));
  return std::max(factor, std::min(1.0, call.algorithm_floor_ps / ps));
}

/// As measured, and by what slows this call.
void Lowering::State::slow_down(LoweredCall& call) const {
  call.time_factor = measured_factor(call) * call.call.slowdown;
  if (call.time_factor == 1) return;
  call.launch_ps *= call.time_factor;
  for (Stage& stage : call.stages) stretch(call.time_factor, stage);
}

Result<LoweredCall> Lowering::lower(const program::CollectiveCall& call) {
  Result<LoweredCall> out = state_->lower_well_split(call, splits());
  if (out.ok()) state_->slow_down(*out);
  return out;
}

Result<LoweredCall> Lowering::State::lower_well_split(const program::CollectiveCall& call, bool splits) {
  State& st = *this;
  if (!splits) return st.lower(call);
  std::vector<SplitSearch> steps(1);
  Result<LoweredCall> found = invalid("nothing was tried");
  for (bool more = true; more;) {  // all steps at once, each with a search of its own
    st.choice.biases.clear();
    for (const SplitSearch& s : steps) st.choice.biases.push_back(s.over() ? s.best() : s.bias());
    found = st.lower(call);
    more = false;
    if (!found.ok()) break;
    for (const Stage& stage : found->stages) {
      if (stage.step >= steps.size()) steps.resize(stage.step + 1);
      SplitSearch& s = steps[stage.step];
      if (s.over()) continue;
      const topology::Topology& t = st.machine.topology();
      const std::vector<double> load_ps = load_ps_of(stage, st.machine);
      const double ps = std::max(stage.slowest_alone_ps, stage.load_ps) + stage.latency_ps;
      s.record(t, ps, load_ps, least_by_any_split(t, load_ps, stage, ps));
      more = true;
    }
  }
  st.choice.biases.clear();
  return found;
}

Result<Stage> Lowering::lower_step(const program::CollectiveCall& call, std::uint32_t step,
                                   const routing::SplitBias& bias) {
  State& st = *state_;
  st.choice = {std::vector<routing::SplitBias>(step + 1, bias), step};
  Result<LoweredCall> found = st.lower(call);
  st.choice = {};
  if (!found.ok()) return found.error();
  if (found->stages.size() != 1) return invalid("no such stage");
  if (st.protocol.measured || call.slowdown != 1) {
    BUSBAR_ASSIGN(const LoweredCall whole, lower(call));
    stretch(whole.time_factor, found->stages[0]);
  }
  return std::move(found->stages[0]);
}

namespace {

/// Of a stage that is not empty.
std::uint32_t slowest_fluid(const Stage& s) {
  const auto slowest = std::max_element(s.fluids.begin(), s.fluids.end(),
                                        [](const Fluid& a, const Fluid& b) { return a.alone_ps < b.alone_ps; });
  return static_cast<std::uint32_t>(slowest - s.fluids.begin());
}

/// The parts of a stage: the chain of its slowest fluid, or a link's load if that takes longer.
void add_parts(const Stage& s, const StageChain& chain, const CapacityTable& table, std::vector<ChainPart>& out) {
  const Fluid& f = s.fluids[slowest_fluid(s)];
  const double total = s.latency_ps + std::max(s.slowest_alone_ps, s.load_ps);
  if (s.load_ps <= s.slowest_alone_ps && std::abs(sum_ps(chain.parts) - total) <= 1e-6 * total) {
    out.insert(out.end(), chain.parts.begin(), chain.parts.end());
    return;
  }
  topology::LinkId link = s.busiest;  // a link's load, or a fluid's own
  double most = -1;
  for (std::uint32_t i = f.begin; i < f.end && s.load_ps < s.slowest_alone_ps; ++i)
    if (const double ps = s.weight[i] / table.rate(s.on[i]); ps > most) most = ps, link = table.link_of(s.on[i]);
  ChainPart p;
  p.phase = s.phase;
  p.link = link;
  p.kind = ChainPartKind::kLatency;
  p.ps = s.latency_ps;
  out.push_back(p);
  p.kind = ChainPartKind::kBandwidth;
  p.ps = total - s.latency_ps;
  out.push_back(p);
}

/// Pre: `call` without its time_factor; its chains are those of the slowest fluids, wherever add_parts() needs them.
std::vector<ChainPart> whole_chain(const LoweredCall& call, const CapacityTable& table) {
  double launch_ps = call.launch_ps;
  for (const Stage& s : call.stages) launch_ps -= s.latency_ps;
  std::vector<ChainPart> out;
  if (launch_ps > 0.5)
    out.push_back({ChainPartKind::kLaunch, "launch", kNone32, kNone32, 0, 0, kNone<topology::LinkId>, launch_ps});
  for (std::size_t k = 0; k < call.stages.size(); ++k) add_parts(call.stages[k], call.chains[k], table, out);
  return out;
}

/// Whether the chains of the call are those of its slowest fluids, wherever a chain counts.
bool has_chains(const LoweredCall& call) {
  if (call.chains.size() != call.stages.size()) return false;
  for (std::size_t k = 0; k < call.stages.size(); ++k)
    if (const Stage& s = call.stages[k]; s.load_ps <= s.slowest_alone_ps && call.chains[k].fluid != slowest_fluid(s))
      return false;
  return true;
}

}  // namespace

Result<std::vector<ChainPart>> Lowering::explain(const program::CollectiveCall& call) {
  State& st = *state_;
  const bool kept = std::exchange(st.keeps_chains, true);
  Result<LoweredCall> base = st.lower_well_split(call, splits());
  if (base.ok() && !has_chains(*base)) {
    for (const Stage& s : base->stages) st.wanted_chains.push_back(slowest_fluid(s));
    base = st.lower_well_split(call, splits());
    st.wanted_chains.clear();
  }
  st.keeps_chains = kept;
  if (!base.ok()) return base.error();
  std::vector<ChainPart> out = whole_chain(*base, st.table);
  st.slow_down(*base);
  for (ChainPart& p : out) p.ps *= base->time_factor;
  return out;
}

std::optional<std::vector<ChainPart>> Lowering::explain(const LoweredCall& call) const {
  const auto pairs = [](const StageChain& c) { return c.fluid == kNone32; };  // which explain(call) lowers one by one
  if (call.time_factor != 1 || !has_chains(call) || std::any_of(call.chains.begin(), call.chains.end(), pairs))
    return {};
  return whole_chain(call, state_->table);
}

double closed_form_ps(const LoweredCall& call) {
  double ps = call.launch_ps;
  for (const Stage& s : call.stages) ps += std::max(s.slowest_alone_ps, s.load_ps);
  return ps;
}

Bound bound_of(const LoweredCall& call) {
  const Stage* slowest = nullptr;
  double most = -1;
  for (const Stage& s : call.stages) {
    const double ps = std::max(s.slowest_alone_ps, s.load_ps) + s.latency_ps;
    if (ps > most) most = ps, slowest = &s;
  }
  Bound bound;
  if (!slowest) return bound;
  bound.link = slowest->busiest;
  bound.phase = slowest->phase;
  bound.kind = slowest->load_ps * 2 >= most ? BoundKind::kBandwidth : BoundKind::kLatency;
  return bound;
}

}  // namespace busbar::lowering
