// The loads of all channels and groups of a call that run at the same time. A hop of a piece through a tree, a chain or
// switches that reduce waits for the pieces of the others on its links.
#include "busbar/lowering/internal/lowering_state.h"

namespace busbar {

/// Opens the runs of step `step` of all channels and groups and keeps them, with the sum of their loads. Runs of
/// halving and similar algorithms are left out, because each of their rounds crosses other links.
Result<SideBySide> Lowering::State::open_side_by_side(const LoweredCall& out, const Schedule& s,
                                                      std::span<const std::vector<PhaseRun>> runs, std::size_t step,
                                                      double chunk_bytes) {
  SideBySide all;
  all.kept.resize(runs.size());
  std::size_t opened = 0;
  std::vector<HopRun> by_hops;
  for (std::size_t c = 0; c < runs.size(); ++c) {
    if (step >= runs[c].size()) continue;
    const Phase& phase = s.phases[runs[c][step].begin];
    if (is_stepwise(phase.pattern) && !uses_hub(phase.pattern)) continue;
    for (std::uint32_t cg = 0; cg < out.call.groups.groups(); ++cg)
      for (std::uint32_t g = 0; g < s.families[phase.family].groups(); ++g, ++opened) {
        BUSBAR_RETURN_IF_ERROR(open_run(out.call, s, runs[c][step], cg, g, chunk_bytes));
        if (all.loads.empty()) all.loads = {table.counts(), 0.0};
        for (const CapacityId l : loads.on()) all.loads[l] += loads[l];
        all.kept[c].push_back(put_by());
      }
    if (!is_stepwise(phase.pattern) && !is_ring(phase.pattern))
      for (RoutedRun& run : all.kept[c])
        by_hops.push_back({&run, phase.pattern == Pattern::kTreeReduce, static_cast<std::uint32_t>(c)});
  }
  hop_times->send(by_hops, 1, lanes.cap, sent_bytes);
  if (opened < 2) all.loads = {};  // it has its links to itself
  return all;
}

/// Notes of each send of the open chain or tree which one waits for it (trees that reduce: for all of several), or for
/// which one it waits.
void Lowering::State::link_hops(const Schedule& s, const Phase& phase) {
  const auto hops = static_cast<std::uint32_t>(connections.size());
  if (!is_tree(phase.pattern)) {
    for (std::uint32_t i = 0; i < hops; ++i) connections[i].toward_root = i == 0 ? kNone32 : i - 1;
    return;
  }
  const TreeNodes tree(s, phase, hops + 1);
  for (std::uint32_t i = 1; i <= hops; ++i) {  // the edge of node i is connection i - 1
    const std::uint32_t parent = tree.parent(i);
    connections[i - 1].toward_root = parent == 0 ? kNone32 : parent - 1;
  }
}

/// The open run as it is, which is closed by that.
RoutedRun Lowering::State::put_by() {
  RoutedRun out;
  out.path.swap(path);
  out.connections.swap(connections);
  path.reserve(out.path.size());  // the next run is mostly as long
  connections.reserve(out.connections.size());
  out.loads = loads.take();
  return out;
}

/// Opens run `step` of channel `c` for one group of one group of ranks: the kept one, or else routed now.
Status Lowering::State::reopen(SideBySide& all, const LoweredCall& out, const Schedule& s, PhaseRun run, std::size_t c,
                               std::uint32_t cg, std::uint32_t g, double chunk_bytes) {
  beside = all.loads.empty() ? nullptr : &all.loads;
  if (all.kept[c].empty()) return open_run(out.call, s, run, cg, g, chunk_bytes);
  const Phase& phase = s.phases[run.begin];
  const GroupFamily& family = s.families[phase.family];
  RoutedRun& kept = all.kept[c][std::size_t{cg} * family.groups() + g];
  set_channel(phase.channel);
  path = std::move(kept.path);
  connections = std::move(kept.connections);
  for (const auto& [capacity, bytes] : kept.loads) loads.add(capacity, bytes);
  kept = {};
  if (is_stepwise(phase.pattern)) {
    if (beside != nullptr) stretch_rounds(s, run);
    return {};
  }
  std::uint32_t next = 0;  // in the order in which open_run() went along the edges
  for_each_edge(s, phase, g, [&](std::uint32_t from, std::uint32_t to, auto) {
    connection_of[phase.pattern == Pattern::kTreeBroadcast ? to : from] = next++;
  });
  return {};
}

/// Sets the time of each send of the open run to that under the loads of all runs of the step.
void Lowering::State::stretch_rounds(const Schedule& s, PhaseRun run) {
  std::size_t first = 0;
  for (std::uint32_t p = run.begin; p < run.end; ++p) {
    const std::uint32_t n = s.families[s.phases[p].family].size();
    for (std::uint32_t r = 0; r < stepwise_rounds(s.phases[p].pattern, n); ++r) {
      std::size_t last = first;
      for_each_send(s.phases[p], n, r, [&](const Send&) { ++last; });
      close_round(first, last, true);
      first = last;
    }
  }
}

/// The first chunks of a pipeline of nothing but trees and chains, followed hop by hop through all phases. Returns how
/// many were followed, 1 where that is too much work or other phases are among them; `end_ps`: per call group and
/// channel, when the last of these is there.
std::uint32_t Lowering::State::follow_pipeline(const Schedule& s, std::span<const std::vector<PhaseRun>> runs,
                                               std::span<SideBySide> side, std::uint32_t groups, std::uint32_t chunks,
                                               std::vector<double>& end_ps) {
  constexpr std::size_t kMostSends = 8'192;  // a millisecond or two
  std::vector<HopRun> hops;
  std::vector<std::uint32_t> last;  // per call group and channel: its last stage
  std::size_t sends = 0;
  std::uint32_t stage = 0;
  for (std::uint32_t cg = 0; cg < groups; ++cg)
    for (std::size_t c = 0; c < runs.size(); ++c) {
      for (std::size_t step = 0; step < runs[c].size(); ++step, ++stage) {
        const Phase& phase = s.phases[runs[c][step].begin];
        if (is_stepwise(phase.pattern) || is_ring(phase.pattern) || side[step].kept[c].empty()) return 1;
        const std::uint32_t families = s.families[phase.family].groups();
        for (std::uint32_t g = 0; g < families; ++g) {
          RoutedRun& run = side[step].kept[c][std::size_t{cg} * families + g];
          hops.push_back({&run, phase.pattern == Pattern::kTreeReduce, stage, step > 0});
          if (run.connections.empty()) return 1;
          sends += run.connections.size();
        }
      }
      last.push_back(stage - 1);
    }
  const auto most = static_cast<std::uint32_t>(kMostSends / std::max<std::size_t>(1, sends));
  const std::uint32_t followed = std::min(chunks, most);
  if (followed < 2) return 1;
  std::vector<std::vector<double>> transfers;  // of the first chunk, which explain() shows
  for (const HopRun& r : hops) {
    auto& kept = transfers.emplace_back();
    for (const Connection& c : r.run->connections) kept.push_back(c.transfer_ps);
  }
  const std::vector<double> ends = hop_times->send(hops, followed, lanes.cap, sent_bytes);
  for (std::size_t r = 0; r < hops.size(); ++r)
    for (std::size_t i = 0; i < transfers[r].size(); ++i) hops[r].run->connections[i].transfer_ps = transfers[r][i];
  for (const std::uint32_t l : last) end_ps.push_back(ends[l]);
  return followed;
}

}  // namespace busbar
