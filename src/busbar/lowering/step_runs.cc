#include "busbar/lowering/internal/step_runs.h"

#include <algorithm>
#include <utility>

namespace busbar::lowering {

StepRuns::~StepRuns() {
  if (!loads_) return;
  loads_->clear();
  spare_->push_back(*std::move(loads_));
}

Status StepRuns::route(const PlannedCall& plan, std::size_t step, RunRouter& router, HopTimes& hop_times,
                       RingTimes& ring_times, OpenRun& run) {
  routed_.resize(plan.runs.size());
  spare_ = &run.spare;
  std::size_t opened = 0;
  std::vector<HopRun> by_hops;
  std::vector<RingRun> rings;
  bool meet = false;  // at one rank
  for (std::size_t c = 0; c < plan.runs.size(); ++c) {
    if (step >= plan.runs[c].size()) continue;
    const collectives::PhaseRun phases = plan.runs[c][step];
    const collectives::Pattern pattern = plan.first_phase(phases).pattern;
    if (collectives::is_stepwise(pattern) && !collectives::uses_hub(pattern)) continue;
    Status status;
    plan.for_each_group(phases, [&](const GroupRun& of) {
      if (status.ok()) status = router.open(of, run);
      if (!status.ok()) return;
      ++opened;
      if (!loads_) loads_ = spare_loads(run.spare, router.counts());
      for (const routing::CapacityId l : run.loads.on())
        if (run.loads[l] > 0) loads_->add(l, run.loads[l]);
      routed_[c].push_back(run.take());
    });
    BUSBAR_RETURN_IF_ERROR(status);
    const bool reduces =
        pattern == collectives::Pattern::kTreeReduce && plan.schedule.op == collectives::Collective::kReduce;
    meet = meet || reduces || pattern == collectives::Pattern::kChainReduce ||
           pattern == collectives::Pattern::kChainBroadcast;
    if (is_ring(pattern))
      for (RoutedRun& routed : routed_[c]) rings.push_back({&routed, collectives::run_rounds(plan.schedule, phases)});
    else if (!collectives::is_stepwise(pattern))
      for (RoutedRun& routed : routed_[c])
        by_hops.push_back({&routed, pattern == collectives::Pattern::kTreeReduce, static_cast<std::uint32_t>(c)});
  }
  hop_times.send(by_hops, 1, plan.lanes.cap, plan.sent);
  if (!rings.empty() && ring_times.send(rings, *loads_, plan)) simplified_.add(Simplification::kRingsByLaw);
  if (meet && plan.chunks == 1 && by_hops.size() > 1) simplified_.add(Simplification::kOnePieceTrees);
  together_ = opened >= 2;  // one run has its links to itself
  return {};
}

Status StepRuns::open(const PlannedCall& plan, const GroupRun& of, std::size_t channel, RunRouter& router,
                      RunTimes& times, OpenRun& run) {
  run.step_loads = loads();
  if (routed_[channel].empty()) return router.open(of, run);
  const collectives::Phase& phase = plan.first_phase(of.phases);
  const std::size_t number = std::size_t{of.call_group} * plan.family(of.phases).groups() + of.group;
  RoutedRun routed = std::exchange(routed_[channel][number], {});
  run.path = std::move(routed.path);
  run.connections = std::move(routed.connections);
  run.equal = routed.equal;
  run.followed = std::move(routed.followed);
  for (const auto& [capacity, bytes] : routed.loads) run.loads.add(capacity, bytes);
  if (collectives::is_stepwise(phase.pattern)) {
    if (run.step_loads != nullptr) times.time_rounds_with_others(run, of.phases);
    return {};
  }
  std::uint32_t next = 0;  // in the order in which RunRouter::open() went along the edges
  collectives::for_each_edge(plan.schedule, phase, of.group, [&](std::uint32_t from, std::uint32_t to, auto) {
    run.connection_of[phase.pattern == collectives::Pattern::kTreeBroadcast ? to : from] = next++;
  });
  return {};
}

std::uint32_t follow_pipeline(const PlannedCall& plan, std::span<StepRuns> steps, HopTimes& hop_times,
                              std::vector<double>& end_ps) {
  constexpr std::size_t kMostSends = 8'192;  // a millisecond or two
  std::vector<HopRun> hops;
  std::vector<std::uint32_t> last;  // per group of ranks and channel: its last stage
  std::size_t sends = 0;
  std::uint32_t stage = 0;
  for (std::uint32_t cg = 0; cg < plan.call.groups.groups(); ++cg)
    for (std::size_t c = 0; c < plan.runs.size(); ++c) {
      for (std::size_t step = 0; step < plan.runs[c].size(); ++step, ++stage) {
        const collectives::Pattern pattern = plan.first_phase(plan.runs[c][step]).pattern;
        if (collectives::is_stepwise(pattern) || is_ring(pattern) || steps[step].routed(c).empty()) return 1;
        const std::uint32_t groups = plan.family(plan.runs[c][step]).groups();
        for (RoutedRun& run : steps[step].routed(c).subspan(std::size_t{cg} * groups, groups)) {
          hops.push_back({&run, pattern == collectives::Pattern::kTreeReduce, stage, step > 0});
          if (run.connections.empty()) return 1;
          sends += run.connections.size();
        }
      }
      last.push_back(stage - 1);
    }
  const auto most = static_cast<std::uint32_t>(kMostSends / std::max<std::size_t>(1, sends));
  const std::uint32_t followed = std::min(plan.chunks, most);
  if (followed < 2) return 1;
  std::vector<std::vector<double>> transfers;  // of the first chunk, which explain() shows
  for (const HopRun& r : hops) {
    auto& kept = transfers.emplace_back();
    for (const Connection& c : r.run->connections) kept.push_back(c.transfer_ps);
  }
  const std::vector<double> ends = hop_times.send(hops, followed, plan.lanes.cap, plan.sent);
  for (std::size_t r = 0; r < hops.size(); ++r)
    for (std::size_t i = 0; i < transfers[r].size(); ++i) hops[r].run->connections[i].transfer_ps = transfers[r][i];
  for (const std::uint32_t l : last) end_ps.push_back(ends[l]);
  return followed;
}

}  // namespace busbar::lowering
