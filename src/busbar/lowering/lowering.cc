#include "busbar/lowering/lowering.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/collectives/builders.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/internal/lowering_state.h"
#include "busbar/lowering/send_costs.h"

namespace busbar {
namespace {

double bytes_per_chunk(const CollectiveCall& call, const Schedule& s) {
  return static_cast<double>(count(call.bytes)) / s.chunks_per_buffer();
}

/// Connections that neither wait for each other nor share a rate. A pairwise exchange keeps its rounds.
bool all_at_once(const Schedule& s, const Phase& phase) {
  return coupling_of(phase.pattern) == Coupling::kFree &&
         stepwise_rounds(phase.pattern, s.families[phase.family].size()) == 1;
}

/// Messages on each connection of a run: one per round of a ring; the sends of stepwise phases are connections each.
double sends_each(const Schedule& s, PhaseRun run) {
  return is_ring(s.phases[run.begin].pattern) ? run_rounds(s, run) : 1;
}

std::string phase_name(const Schedule& s, PhaseRun run) {
  std::string name = name_of(s.phases[run.begin].pattern);
  if (run.end - run.begin > 1 && !is_stepwise(s.phases[run.begin].pattern)) name += " + all-gather";
  const GroupFamily& family = s.families[s.phases[run.begin].family];
  if (s.traits.names_levels)
    name += family.size() > 1 && family.actor(0, 1) == family.actor(0, 0) + 1 ? " in group" : " across groups";
  return name;
}

}  // namespace

/// After an error anything may be half done.
void Lowering::State::forget_all() {
  loads.clear();
  total.clear();
  round_load.fill(0);
  beside = nullptr;
}

Status Lowering::State::lower_in_steps(const Schedule& s, std::span<const std::vector<PhaseRun>> runs,
                                       LoweredCall& out) {
  std::size_t steps = 0;
  for (const auto& channel : runs) steps = std::max(steps, channel.size());
  const double chunk_bytes = bytes_per_chunk(out.call, s);
  for (std::size_t step = 0; step < steps; ++step) {
    if (only && step != *only) continue;
    set_bias(step);
    builder->begin(static_cast<std::uint32_t>(step));
    Stage& stage = builder->stage;
    BUSBAR_ASSIGN(SideBySide all, open_side_by_side(out, s, runs, step, chunk_bytes));
    const bool together = pairs_together(out, s, runs, step);
    for (std::size_t c = 0; c < runs.size(); ++c) {
      if (step >= runs[c].size()) continue;
      const PhaseRun run = runs[c][step];
      if (stage.phase.empty()) stage.phase = phase_name(s, run);
      const std::uint32_t groups = s.families[s.phases[run.begin].family].groups();
      for (std::uint32_t cg = 0; cg < out.call.groups.groups(); ++cg)
        for (std::uint32_t g = 0; g < groups; ++g) {
          if (all_at_once(s, s.phases[run.begin])) {
            BUSBAR_RETURN_IF_ERROR(together ? lower_together(s, run, cg, g, chunk_bytes, out.call)
                                            : lower_free(s, run, cg, g, chunk_bytes, out.call));
            continue;
          }
          BUSBAR_RETURN_IF_ERROR(reopen(all, out, s, run, c, cg, g, chunk_bytes));
          if (traces(out, stage)) trace->parts[out.stages.size()] = trace_run(s, run, g, chunk_bytes, stage.phase);
          const double bytes = busiest_bytes(is_stepwise(s.phases[run.begin].pattern));
          const double held_ps = hold_ps(sends_each(s, run));
          if (bytes > 0)
            builder->emit(loads, bytes, alone(s, run, g, chunk_bytes) + held_ps);
          else
            loads.clear();
        }
    }
    beside = nullptr;
    close_stage(out);
  }
  return {};
}

/// A phase whose connections know nothing of each other: a fluid each. Their latency is paid once, before the bytes.
Status Lowering::State::lower_free(const Schedule& s, PhaseRun run, std::uint32_t call_group, std::uint32_t group,
                                   double chunk_bytes, const CollectiveCall& call) {
  constexpr std::uint64_t kMostFluids = 2'000'000;  // some 300 MB
  const Phase& phase = s.phases[run.begin];
  const GroupFamily& family = s.families[phase.family];
  const std::uint32_t n = family.size();
  const bool pairs = phase.pattern != Pattern::kDirectGather && phase.pattern != Pattern::kDirectScatter &&
                     phase.pattern != Pattern::kDirectShift;
  Stage& stage = builder->stage;
  if (stage.fluids.size() + std::uint64_t{n} * (pairs ? n : 1) > kMostFluids)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} over {} ranks is {} routes at once; choose pairwise or bruck", name_of(phase.pattern),
                             n, std::uint64_t{n} * n),
                 {}};
  Status status;
  set_channel(phase.channel);
  set_arrival_cost(s, run.begin, run.begin + 1);
  for_each_send(phase, n, 0, [&](const Send& send) {
    const double bytes = static_cast<double>(chunks_of(s, phase, n, send)) * chunk_bytes;
    if (!status.ok() || bytes == 0) return;
    path.clear();
    connections.clear();
    status = connect(call, call_group, actor_of(phase, family, n, group, send.src),
                     actor_of(phase, family, n, group, send.dst), bytes);
    if (!status.ok()) return;
    const double alone_ps = longest_load_ps(lanes.cap > 0 ? bytes / lanes.cap : 0) + hold_ps(1);
    stage.latency_ps = std::max(stage.latency_ps, connections[0].latency_ps);
    builder->emit_free(loads, bytes, alone_ps);
  });
  return status;
}

/// k chunks: one fluid per (call group, channel) with the loads of all its phases added. Its time alone is that of the
/// first chunks through every phase, one or as many as are followed, and then of the others through the busiest link.
Status Lowering::State::lower_as_pipeline(const Schedule& s, std::span<const std::vector<PhaseRun>> runs,
                                          LoweredCall& out) {
  const double k = out.chunks;
  const double chunk_bytes = bytes_per_chunk(out.call, s) / k;
  set_bias(0);
  builder->begin(0);
  Stage& stage = builder->stage;
  std::size_t steps = 0;
  for (const auto& channel : runs) steps = std::max(steps, channel.size());
  std::vector<SideBySide> side(steps);  // of one chunk
  PerCapacity<double> all_loads;        // of all steps together
  for (std::size_t step = 0; step < steps; ++step) {
    BUSBAR_ASSIGN(side[step], open_side_by_side(out, s, runs, step, chunk_bytes));
    if (side[step].loads.empty()) continue;
    if (all_loads.empty()) all_loads = {table.counts(), 0.0};
    all_loads.add(side[step].loads);
  }
  std::vector<double> followed_ps;  // per call group and channel
  const std::uint32_t followed =
      !table.holds() ? follow_pipeline(s, runs, side, out.call.groups.groups(), out.chunks, followed_ps) : 1;
  for (std::uint32_t cg = 0; cg < out.call.groups.groups(); ++cg)
    for (std::size_t c = 0; c < runs.size(); ++c) {
      double held_chunk = 0;                                     // of one chunk in all phases
      double first_chunk_ps = 0, most_bytes = 0, all_bytes = 0;  // all: of the phases' busiest connections together
      std::vector<ChainPart> parts, slowest_parts;
      for (std::size_t step = 0; step < runs[c].size(); ++step) {
        const PhaseRun run = runs[c][step];
        if (stage.phase.empty()) stage.phase = phase_name(s, run);
        double slowest = 0, run_bytes = 0, run_held = 0;
        const std::uint32_t groups = s.families[s.phases[run.begin].family].groups();
        for (std::uint32_t g = 0; g < groups; ++g) {
          BUSBAR_RETURN_IF_ERROR(reopen(side[step], out, s, run, c, cg, g, chunk_bytes));
          const double held_ps = connections.empty() ? 0 : hold_ps(sends_each(s, run));
          const double ps = connections.empty() ? 0 : alone(s, run, g, chunk_bytes) + held_ps;
          if (ps > slowest && traces(out, stage)) slowest_parts = trace_run(s, run, g, chunk_bytes, phase_name(s, run));
          slowest = std::max(slowest, ps);
          const double busiest = busiest_bytes(is_stepwise(s.phases[run.begin].pattern));
          most_bytes = std::max(most_bytes, busiest);
          run_bytes = std::max(run_bytes, busiest);
          run_held = std::max(run_held, held_ps);
          for (const CapacityId c : loads.on()) total.add(c, loads[c]);
          loads.clear();
        }
        first_chunk_ps += slowest;
        all_bytes += run_bytes;
        parts.insert(parts.end(), slowest_parts.begin(), slowest_parts.end());
        slowest_parts.clear();
        held_chunk += run_held;
      }
      beside = nullptr;
      double busiest_ps = lanes.cap > 0 ? all_bytes / lanes.cap : 0;
      LinkId busiest = kNone<LinkId>;
      for (const CapacityId l : total.on()) {
        const double load = all_loads.empty() ? total[l] : std::max(total[l], all_loads[l]);
        if (load / table.rate(l) > busiest_ps) busiest = table.link_of(l);
        busiest_ps = std::max(busiest_ps, load / table.rate(l));
        loads.add(l, total[l] * k);
      }
      total.clear();
      double more_ps = (k - 1) * (busiest_ps + held_chunk);
      if (followed > 1)
        more_ps = std::max(0.0, followed_ps[cg * runs.size() + c] - first_chunk_ps) + (k - followed) * busiest_ps;
      if (traces(out, stage)) {
        parts.push_back({ChainPartKind::kBandwidth, "chunks after the first", kNone32, kNone32, 0,
                         0, busiest, more_ps});
        trace->parts[out.stages.size()] = std::move(parts);
      }
      if (most_bytes > 0) builder->emit(loads, most_bytes * k, first_chunk_ps + more_ps);
    }
  stage.phase = s.algorithm + " " + name_of(s.op) + ", pipelined";
  close_stage(out);
  return {};
}

/// Appends the stage that is being built; not an empty one.
void Lowering::State::close_stage(LoweredCall& out) {
  Stage stage = builder->finish();
  if (stage.fluids.empty()) return;
  out.launch_ps += stage.latency_ps;
  out.stages.push_back(std::move(stage));
}

Lowering::Lowering(const Router& router, const Placement& placement, const ProtocolModel& protocol, Shortcuts shortcuts)
    : state_(new State{router, placement, protocol, PairSpread(router), shortcuts,
                       CapacityTable(router, protocol, {}, {}, shortcuts)}) {}
Lowering::~Lowering() = default;

void Lowering::set_what_if(const WhatIf& what_if) {
  state_->what_if = what_if;
  state_->read_table();
}

void Lowering::set_delays(std::span<const LinkDelay> delays) {
  state_->delays.assign(delays.begin(), delays.end());
  state_->builder.reset();  // there may be other capacities now
  state_->read_table();
}

const CapacityTable& Lowering::capacities() const { return state_->table; }
const ProtocolModel& Lowering::protocol() const { return state_->protocol; }
const Router& Lowering::router() const { return state_->router; }

PlanLanes Lowering::lanes(const CollectiveCall& call, const Schedule& schedule) {
  const State& st = *state_;
  const std::uint32_t per_domain = ranks_per_domain(call, st.topology(), st.placement);
  const Lanes lanes = lanes_of(call, schedule, per_domain, st.placement, st.protocol);
  return {lanes.count, lanes.stride, st.placement.nic_channels()};
}

Result<Schedule> Lowering::State::build(const CollectiveCall& call, std::uint32_t per_domain) {
  const std::uint32_t most = call.channels == 0 ? most_channels(call, placement, protocol) : call.channels;
  return build_for_call(call, topology(), placement, per_domain, most);
}

double Lowering::least_ps(const CollectiveCall& call) {
  State& st = *state_;
  const std::uint32_t n = call.groups.size(), per_domain = ranks_per_domain(call, st.topology(), st.placement);
  Result<Schedule> built = call.schedule ? Result<Schedule>(*call.schedule) : st.build(call, per_domain);
  if (!built.ok() || built->ranks != n || count(call.bytes) == 0) return 0;
  const Schedule& s = *built;
  st.lanes = lanes_of(call, s, per_domain, st.placement, st.protocol);
  if (pipeline_chunks(call, s, st.protocol, s.channels * st.lanes.count) != 1) return 0;
  const ProtocolCosts costs = costs_of(st.protocol, call.protocol);
  Duration least = std::min({costs.step_scale_up, costs.step_server, costs.step_network});
  if (s.reducers > 0) least = std::min({least, st.protocol.step_switch, st.protocol.step_network});
  const SendCost send{static_cast<double>(least.in_ps()), 0};
  std::vector<double> ps(s.channels, 0.0);
  for (const PhaseRun run : phase_runs(s))
    if (coupling_of(s.phases[run.begin].pattern) != Coupling::kFree)
      ps[s.phases[run.begin].channel] += longest_chain(
          s, run, 0, [&](std::uint32_t, std::uint32_t) { return send; }, st.chain);
  return static_cast<double>(st.protocol.launch.in_ps()) + *std::max_element(ps.begin(), ps.end());
}

/// Work space per capacity: an engine that takes all its calls over from another never needs it.
void Lowering::State::make_room() {
  if (builder) return;
  builder.emplace(table, shortcuts);
  loads = total = RunLoads(table.counts());
  round_load = {table.counts(), 0.0};
  hop_times.emplace(table);
}

Result<LoweredCall> Lowering::lower_once(const CollectiveCall& call) {
  State& st = *state_;
  st.make_room();
  LoweredCall out;
  out.call = call;
  out.launch_ps = static_cast<double>(st.protocol.launch.in_ps());
  st.sent_bytes.straight = 1 / costs_of(st.protocol, call.protocol).efficiency;
  st.sent_bytes.to_switch = st.sent_bytes.straight / st.protocol.share_switch;
  const std::uint32_t n = call.groups.size();
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t m = 0; m < n; ++m)
      if (call.groups.actor(g, m) >= st.placement.ranks())
        return invalid(
            fmt::format("rank {} has no GPU: only {} are placed", call.groups.actor(g, m), st.placement.ranks()));
  const std::uint32_t per_domain = ranks_per_domain(call, st.topology(), st.placement);
  Schedule built;
  if (!call.schedule) {
    BUSBAR_ASSIGN(built, st.build(call, per_domain));
  }
  const Schedule& s = call.schedule ? *call.schedule : built;
  if (s.ranks != n || s.op != call.op || s.root != call.root) return invalid("the schedule is for another call");
  st.nics = call.nics.get();
  st.lanes = lanes_of(call, s, per_domain, st.placement, st.protocol);
  st.trees.begin(call, s, per_domain);
  out.channels = s.channels * st.lanes.count;
  st.connection_of.assign(s.ranks + s.reducers, 0);
  st.sent.assign(s.ranks, 0.0);
  std::vector<std::vector<PhaseRun>> runs(s.channels);
  for (const PhaseRun run : phase_runs(s)) runs[s.phases[run.begin].channel].push_back(run);
  out.chunks = pipeline_chunks(call, s, st.protocol, out.channels);
  const Status status = out.chunks == 1 ? st.lower_in_steps(s, runs, out) : st.lower_as_pipeline(s, runs, out);
  if (!status.ok()) {
    st.forget_all();
    return status.error();
  }
  for (const Stage& stage : out.stages)
    for (const Fluid& f : stage.fluids)
      for (std::uint32_t i = f.begin; i < f.end; ++i) st.loads.add(stage.on[i], stage.weight[i] * f.bytes);
  for (const CapacityId l : st.loads.on())
    if (!l.is_device()) {
      if (l.is_bundle()) st.shortcuts.take(Shortcut::kBundles);
      out.algorithm_floor_ps = std::max(out.algorithm_floor_ps, st.loads[l] / st.table.wire_rate(l));
    }
  st.loads.clear();
  // Links to a switch that reduces carry more in the model than on the wire.
  if (s.reducers > 0) out.algorithm_floor_ps *= st.protocol.share_switch;
  return out;
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

}  // namespace busbar
