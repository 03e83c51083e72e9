#include "busbar/lowering/internal/call_lowering.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/lowering/internal/turns.h"

namespace busbar::lowering {
namespace {

/// Messages on each connection of a run: one per round of a ring; the sends of stepwise phases are connections each.
double sends_each(const PlannedCall& plan, collectives::PhaseRun run) {
  return is_ring(plan.first_phase(run).pattern) ? collectives::run_rounds(plan.schedule, run) : 1;
}

std::string phase_name(const PlannedCall& plan, collectives::PhaseRun run) {
  const collectives::Pattern pattern = plan.first_phase(run).pattern;
  std::string name = collectives::name_of(pattern);
  if (run.end - run.begin > 1 && !collectives::is_stepwise(pattern)) name += " + all-gather";
  const collectives::GroupFamily& family = plan.family(run);
  if (plan.schedule.traits.names_levels)
    name += family.size() > 1 && family.actor(0, 1) == family.actor(0, 0) + 1 ? " in group" : " across groups";
  return name;
}

/// What is simplified in several phases whose chunks are not followed.
Simplifications unfollowed(const PlannedCall& plan) {
  Simplifications out;
  bool in_turn = false, switches = false;
  for (const std::vector<collectives::PhaseRun>& channel : plan.runs)
    for (const collectives::PhaseRun run : channel) {
      const collectives::Pattern pattern = plan.first_phase(run).pattern;
      switches = switches || collectives::uses_hub(pattern);
      in_turn = in_turn || is_ring(pattern) || (collectives::is_stepwise(pattern) && !collectives::uses_hub(pattern));
    }
  if (in_turn && plan.steps() > 1) out.add(Simplification::kPhasesInTurn);
  if (!in_turn && !switches && plan.chunks > 1) out.add(Simplification::kFirstChunk);
  return out;
}

}  // namespace

/// Parts with different numbers of steps do not wait for each other: each becomes a pipeline, of one chunk or more.
Result<std::vector<Stage>> CallLowering::stages() {
  const PlannedCall& first = plans_.front();
  const bool stepwise = std::all_of(plans_.begin(), plans_.end(), [&](const PlannedCall& plan) {
    return plan.chunks == 1 && plan.steps() == first.steps();
  });
  for (std::size_t step = 0; step < (stepwise ? first.steps() : 1); ++step) {
    if (choice_.only && step != *choice_.only) continue;
    space_.router.set_bias(choice_.bias(step));
    space_.builder.begin(static_cast<std::uint32_t>(step));
    for (const PlannedCall& plan : plans_) {
      begin(plan);
      BUSBAR_RETURN_IF_ERROR(stepwise ? lower_step(step) : lower_pipeline());
    }
    close_stage();
  }
  return std::move(done_);
}

void CallLowering::begin(const PlannedCall& plan) {
  if (plan_ == &plan) return;
  plan_ = &plan;
  space_.times.begin_call(plan);
  const std::uint32_t domain = ranks_per_domain(plan.call, machine_.topology(), machine_.placement);
  space_.router.begin_call(plan, domain, trace_ != nullptr);
  space_.run.begin_call(plan.schedule.ranks, plan.schedule.reducers);
}

Status CallLowering::lower_step(std::size_t step) {
  Stage& stage = space_.builder.stage;
  StepRuns runs;
  BUSBAR_RETURN_IF_ERROR(runs.route(*plan_, step, space_.router, space_.hop_times, space_.ring_times, space_.run));
  stage.simplified.add(runs.simplified());
  stage.simplified.add(unfollowed(*plan_));
  const bool together = has_many_pairs(machine_, *plan_, step);
  const PairTools tools{machine_, spread_, space_.router, space_.times, space_.builder};
  for (std::size_t c = 0; c < plan_->runs.size(); ++c) {
    if (step >= plan_->runs[c].size()) continue;
    const collectives::PhaseRun phases = plan_->runs[c][step];
    if (stage.phase.empty()) stage.phase = phase_name(*plan_, phases);
    const bool at_once = all_at_once(plan_->schedule, plan_->first_phase(phases));
    Status status;
    plan_->for_each_group(phases, [&](const GroupRun& of) {
      if (!status.ok()) return;
      status = !at_once   ? lower_run(of, c, runs)
               : together ? lower_pairs_together(tools, *plan_, of, space_.run)
                          : lower_sends(of);
    });
    BUSBAR_RETURN_IF_ERROR(status);
  }
  space_.run.step_loads = nullptr;
  take_turns(step);
  return {};
}

/// A rank performs the messages of its channels one after another.
void CallLowering::take_turns(std::optional<std::size_t> step) {
  const auto turn_ps = static_cast<double>(machine_.protocol.per_message.in_ps());
  if (turn_ps > 0) space_.builder.stage.latency_ps += turn_ps * turns_among_channels(*plan_, step);
}

/// A run whose connections wait for each other: one fluid.
Status CallLowering::lower_run(const GroupRun& of, std::size_t channel, StepRuns& runs) {
  OpenRun& run = space_.run;
  BUSBAR_RETURN_IF_ERROR(runs.open(*plan_, of, channel, space_.router, space_.times, run));
  const double bytes = run.busiest_bytes(collectives::is_stepwise(plan_->first_phase(of.phases).pattern));
  const double held_ps = space_.times.held_ps(run, sends_each(*plan_, of.phases));
  if (bytes == 0) {
    run.loads.clear();
    return {};
  }
  const double alone_ps = space_.times.alone_ps(run, of) + held_ps;
  if (trace_ != nullptr && trace_->keeps(space_.builder.stage.fluids.size(), alone_ps))
    keep_chain(alone_ps, RunTracer(machine_, *plan_, space_.times, of, run, space_.builder.stage.phase).trace());
  space_.builder.emit(run.loads, bytes, alone_ps);
  return {};
}

/// A phase whose connections know nothing of each other: a fluid each. Their latency is paid once, before the bytes.
Status CallLowering::lower_sends(const GroupRun& of) {
  constexpr std::uint64_t kMostFluids = 2'000'000;  // some 300 MB
  const collectives::Phase& phase = plan_->first_phase(of.phases);
  const collectives::GroupFamily& family = plan_->family(of.phases);
  const std::uint32_t n = family.size();
  const bool pairs = phase.pattern != collectives::Pattern::kDirectGather &&
                     phase.pattern != collectives::Pattern::kDirectScatter &&
                     phase.pattern != collectives::Pattern::kDirectShift;
  Stage& stage = space_.builder.stage;
  if (stage.fluids.size() + std::uint64_t{n} * (pairs ? n : 1) > kMostFluids)
    return unsupported(fmt::format("{} over {} ranks is {} routes at once; choose pairwise or bruck",
                                   collectives::name_of(phase.pattern), n, std::uint64_t{n} * n));
  OpenRun& run = space_.run;
  const double chunk_bytes = plan_->chunk_bytes();
  const auto turn_ps = static_cast<double>(machine_.protocol.per_message.in_ps());
  TurnCount turns(turn_ps > 0 ? n : 0);
  std::vector<double> receiver_ps(n, 0.0);  // of its processor, for what comes over NICs
  double latest_ps = 0;
  Status status;
  space_.router.begin_run({of.phases.begin, of.phases.begin + 1});
  collectives::for_each_send(phase, n, 0, [&](const collectives::Send& send) {
    const double bytes = static_cast<double>(collectives::chunks_of(plan_->schedule, phase, n, send)) * chunk_bytes;
    if (!status.ok() || bytes == 0) return;
    run.clear_routes();
    status = space_.router.connect(of.call_group, collectives::actor_of(phase, family, n, of.group, send.src),
                                   collectives::actor_of(phase, family, n, of.group, send.dst), bytes, 1, run);
    if (!status.ok()) return;
    const double load_ps = space_.times.longest_load_ps(run, space_.times.capped_ps(bytes));
    const Connection& c = run.connections[0];
    receiver_ps[send.dst] += c.turn_ps;
    latest_ps = std::max(latest_ps, c.latency_ps + receiver_ps[send.dst] - c.turn_ps);
    if (turn_ps > 0) turns.add(send.src, send.dst);
    space_.builder.emit_free(run.loads, bytes, load_ps + space_.times.held_ps(run, 1));
  });
  stage.latency_ps = std::max(stage.latency_ps, latest_ps + turn_ps * turns.beyond_first());
  return status;
}

struct CallLowering::FirstChunk {
  double ps = 0;          ///< through all phases
  double held_ps = 0;     ///< of that, held up
  double most_bytes = 0;  ///< of the busiest connection
  double all_bytes = 0;   ///< of the phases' busiest connections together
  std::vector<ChainPart> parts{};
};

/// Loads of the runs go to LoweringSpace::total.
Status CallLowering::lower_first_chunk(std::uint32_t call_group, std::size_t channel, std::span<StepRuns> steps,
                                       FirstChunk& first) {
  OpenRun& run = space_.run;
  for (std::size_t step = 0; step < plan_->runs[channel].size(); ++step) {
    const collectives::PhaseRun phases = plan_->runs[channel][step];
    const std::string name = phase_name(*plan_, phases);
    if (space_.builder.stage.phase.empty()) space_.builder.stage.phase = name;
    double slowest_ps = 0, bytes = 0, held_ps = 0;
    std::vector<ChainPart> parts;  // of the slowest
    for (std::uint32_t g = 0; g < plan_->family(phases).groups(); ++g) {
      const GroupRun of{phases, call_group, g};
      BUSBAR_RETURN_IF_ERROR(steps[step].open(*plan_, of, channel, space_.router, space_.times, run));
      const bool empty = run.connections.empty();
      const double held = empty ? 0 : space_.times.held_ps(run, sends_each(*plan_, phases));
      const double ps = empty ? 0 : space_.times.alone_ps(run, of) + held;
      if (ps > slowest_ps && traces()) parts = RunTracer(machine_, *plan_, space_.times, of, run, name).trace();
      slowest_ps = std::max(slowest_ps, ps);
      bytes = std::max(bytes, run.busiest_bytes(collectives::is_stepwise(plan_->first_phase(phases).pattern)));
      held_ps = std::max(held_ps, held);
      for (const routing::CapacityId c : run.loads.on()) space_.total.add(c, run.loads[c]);
      run.loads.clear();
    }
    first.ps += slowest_ps;
    first.held_ps += held_ps;
    first.most_bytes = std::max(first.most_bytes, bytes);
    first.all_bytes += bytes;
    first.parts.insert(first.parts.end(), parts.begin(), parts.end());
  }
  run.step_loads = nullptr;
  return {};
}

/// k chunks: one fluid per (group of ranks, channel) with the loads of all its phases added. Its time alone is that of
/// the first chunks through every phase, one or as many as are followed, and then of the others through the busiest
/// link.
Status CallLowering::lower_pipeline() {
  const double k = plan_->chunks;
  std::vector<StepRuns> steps(plan_->steps());                                  // of one chunk
  RunLoads all_loads = spare_loads(space_.run.spare, machine_.table.counts());  // of all steps together
  for (std::size_t step = 0; step < steps.size(); ++step) {
    BUSBAR_RETURN_IF_ERROR(
        steps[step].route(*plan_, step, space_.router, space_.hop_times, space_.ring_times, space_.run));
    space_.builder.stage.simplified.add(steps[step].simplified());
    if (const RunLoads* loads = steps[step].loads())
      for (const routing::CapacityId c : loads->on()) all_loads.add(c, (*loads)[c]);
  }
  std::vector<double> followed_ps;  // per group of ranks and channel
  const std::uint32_t followed =
      !machine_.table.holds() ? follow_pipeline(*plan_, steps, space_.hop_times, followed_ps) : 1;
  if (followed == 1 && !machine_.table.holds()) space_.builder.stage.simplified.add(unfollowed(*plan_));
  RunLoads& total = space_.total;
  for (std::uint32_t cg = 0; cg < plan_->call.groups.groups(); ++cg)
    for (std::size_t c = 0; c < plan_->runs.size(); ++c) {
      FirstChunk first;
      BUSBAR_RETURN_IF_ERROR(lower_first_chunk(cg, c, steps, first));
      double busiest_ps = space_.times.capped_ps(first.all_bytes);
      topology::LinkId busiest = kNone<topology::LinkId>;
      for (const routing::CapacityId l : total.on()) {
        const double load = std::max(total[l], all_loads[l]);
        if (load / machine_.table.rate(l) > busiest_ps) busiest = machine_.table.link_of(l);
        busiest_ps = std::max(busiest_ps, load / machine_.table.rate(l));
        space_.run.loads.add(l, total[l] * k);
      }
      total.clear();
      double more_ps = (k - 1) * (busiest_ps + first.held_ps);
      if (followed > 1)
        more_ps = std::max(0.0, followed_ps[cg * plan_->runs.size() + c] - first.ps) + (k - followed) * busiest_ps;
      if (first.most_bytes > 0 && traces()) {
        first.parts.push_back(
            {ChainPartKind::kBandwidth, "chunks after the first", kNone32, kNone32, 0, 0, busiest, more_ps});
        keep_chain(first.ps + more_ps, std::move(first.parts));
      }
      if (first.most_bytes > 0) space_.builder.emit(space_.run.loads, first.most_bytes * k, first.ps + more_ps);
    }
  all_loads.clear();
  space_.run.spare.push_back(std::move(all_loads));
  take_turns({});
  space_.builder.stage.phase =
      plan_->schedule.algorithm + " " + collectives::name_of(plan_->schedule.op) + ", pipelined";
  return {};
}

/// Whether the next fluid of the stage may be one whose chain is kept.
bool CallLowering::traces() const { return trace_ != nullptr && trace_->traces(space_.builder.stage.fluids.size()); }

/// Keeps the chain of the next fluid of the stage if it is wanted, or seems slower than those before.
void CallLowering::keep_chain(double ps, std::vector<ChainPart> parts) {
  const std::size_t fluid = space_.builder.stage.fluids.size();
  if (trace_->keeps(fluid, ps)) trace_->open = {static_cast<std::uint32_t>(fluid), ps, std::move(parts)};
}

/// Keeps the stage that is being built; not an empty one.
void CallLowering::close_stage() {
  constexpr double kWorthSaying = 1e-2;  // what is counted more simply are the bytes that meet on links
  Stage stage = space_.builder.finish();
  if (stage.load_ps < kWorthSaying * stage.slowest_alone_ps) stage.simplified = {};
  StageChain chain = trace_ != nullptr ? std::exchange(trace_->open, {}) : StageChain();
  if (stage.fluids.empty()) return;
  done_.push_back(std::move(stage));
  if (trace_ != nullptr) trace_->stages.push_back(std::move(chain));
}

}  // namespace busbar::lowering
