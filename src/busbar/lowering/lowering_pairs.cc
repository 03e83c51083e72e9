// Phases in which every pair exchanges the same, over so many pairs that they are not fluids each.
//
// Fluids of equal bytes that start together: those on the link with the largest load / rate are the slowest from the
// first byte to the last, for no slower fluid exists whose end would free capacity. So the phase ends after that
// load / rate, or after the longest time of one alone. That does not change when pairs that exchange the same are one
// fluid, whichever pairs those are: one fluid per group takes the same time alone and puts the same loads on links.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "busbar/lowering/internal/lowering_state.h"
#include "busbar/lowering/send_costs.h"

namespace busbar {

/// Whether step `step` is made of exchanges of equal pieces alone, and of more pairs than are kept apart.
bool Lowering::State::pairs_together(const LoweredCall& out, const Schedule& s,
                                     std::span<const std::vector<PhaseRun>> runs, std::size_t step) const {
  if (nics != nullptr) return false;  // no library chooses NICs for so many pairs
  double pairs = 0;
  std::uint64_t chunks = 0;
  for (const std::vector<PhaseRun>& channel_runs : runs) {
    if (step >= channel_runs.size()) continue;
    const Phase& phase = s.phases[channel_runs[step].begin];
    const GroupFamily& family = s.families[phase.family];
    const std::uint64_t each = phase.pattern == Pattern::kPairwiseAllToAll ? 0 : chunks_per_pair(s, phase);
    if (each == 0 || (chunks != 0 && chunks != each)) return false;
    chunks = each;
    pairs += 1.0 * out.call.groups.groups() * family.groups() * family.size() * (family.size() - 1.0);
  }
  return pairs > static_cast<double>(shortcuts.pairs_apart) && shortcuts.take(Shortcut::kPairsAsOneFluid);
}

void Lowering::State::cross_pairs(const CapacityShare& l, double bytes, double least_ps) {
  load(l, bytes);
  builder->cross(l.on, least_ps);
}

/// One pair, routed by itself.
Status Lowering::State::connect_pair(const CollectiveCall& call, std::uint32_t group, std::uint32_t from,
                                     std::uint32_t to, double bytes, PairTimes& times) {
  path.clear();
  connections.clear();
  BUSBAR_RETURN_IF_ERROR(connect(call, group, from, to, bytes));
  times.latest_ps = std::max(times.latest_ps, connections[0].latency_ps);
  if (!table.holds()) return {};
  close_round(0, 1, false);
  times.alone_ps = std::max(times.alone_ps, connections[0].transfer_ps + hold_ps(1));
  return {};
}

/// All pairs in different blocks by classes of members. False: they are to be routed one by one.
Result<bool> Lowering::State::spread_pairs(const CollectiveCall& call, std::uint32_t group,
                                           std::span<const std::uint32_t> actors, double bytes, PairTimes& times) {
  const bool hashed = router.policy() == RoutingPolicy::kStatic;
  if (table.holds() || !shortcuts.has(hashed ? Shortcut::kHashedPairs : Shortcut::kPairClasses)) return false;
  PairEnds ends;
  ends.lane = nic_numbers;
  const auto stage_in_host = [&](DeviceId from, DeviceId to) {
    path.clear();
    return routes.inside(from, to, path);
  };
  std::size_t hosts = 0;
  for (const std::uint32_t actor : actors) {
    const std::uint32_t rank = call.groups.actor(group, actor);
    const DeviceId gpu = placement.gpu(rank), host = protocol.gpudirect ? kNone<DeviceId> : routes.host_memory(gpu);
    ends.gpu.push_back(gpu);
    ends.at.push_back(host == kNone<DeviceId> ? gpu : host);
    ends.before_ps.push_back(0);
    ends.after_ps.push_back(0);
    if (host != kNone<DeviceId>) {
      ++hosts;
      BUSBAR_RETURN_IF_ERROR(stage_in_host(gpu, host));
      ends.before_ps.back() = routes.latency_ps(path, 0, 1);
      BUSBAR_RETURN_IF_ERROR(stage_in_host(host, gpu));
      ends.after_ps.back() = routes.latency_ps(path, 0, 1);
    }
    for (const std::uint32_t nic : nic_numbers) ends.nic.push_back(placement.nic(rank, nic));
  }
  if (hosts != 0 && hosts != actors.size()) return false;
  BUSBAR_ASSIGN(const PairLoads* const loads,
                pair_spread.between_blocks(ends, table.class_latency_ps(), table.bundles() != nullptr, *bias));
  if (loads == nullptr) return false;
  shortcuts.take(hashed ? Shortcut::kHashedPairs : Shortcut::kPairClasses);
  const auto overhead_ps = static_cast<double>(costs_of(protocol, call.protocol).step_network.in_ps());
  times.latest_ps = std::max(times.latest_ps, loads->latest_ps + overhead_ps);
  const auto add = [&](CapacityId l, double pairs, double least_ps) {
    cross_pairs({l, pairs}, bytes, least_ps);
    if (!l.is_link()) return;
    const DeviceId d = topology().to(l.link());
    if (table.limited(d) && topology().kind(d) != DeviceKind::kGpu && !topology().device_class(d).reduces)
      cross_pairs({CapacityId::limit_of(d), pairs}, bytes, least_ps);
  };
  for (const PairLoads::At& l : loads->on) add(l.on, l.pairs, l.least_ps + overhead_ps);
  std::map<BlockId, std::uint32_t> own;
  for (const DeviceId gpu : ends.gpu) ++own[topology().block_of(gpu)];
  for (std::size_t m = 0; m < actors.size(); ++m) {
    if (!table.limited(ends.gpu[m])) continue;
    const double pairs = static_cast<double>(actors.size()) - own[topology().block_of(ends.gpu[m])];
    cross_pairs({CapacityId::limit_of(ends.gpu[m]), pairs * (1 + arrival_cost)}, bytes,
                std::min(loads->least_out_ps[m], loads->least_in_ps[m]) + overhead_ps);
  }
  if (hosts == 0) return true;
  for (std::size_t m = 0; m < actors.size(); ++m) {
    const double pairs = static_cast<double>(actors.size()) - own[topology().block_of(ends.gpu[m])];
    for (const bool out : {true, false}) {
      const DeviceId gpu = ends.gpu[m], host = ends.at[m];
      BUSBAR_RETURN_IF_ERROR(out ? stage_in_host(gpu, host) : stage_in_host(host, gpu));
      for (const CapacityShare& l : path)
        if (pairs > 0) add(l.on, pairs * l.share, (out ? loads->least_out_ps[m] : loads->least_in_ps[m]) + overhead_ps);
    }
  }
  return true;
}

Status Lowering::State::lower_together(const Schedule& s, PhaseRun run, std::uint32_t call_group, std::uint32_t group,
                                       double chunk_bytes, const CollectiveCall& call) {
  constexpr std::uint64_t kMostRouted = 1 << 22;  // some seconds
  const Phase& phase = s.phases[run.begin];
  const GroupFamily& family = s.families[phase.family];
  const double bytes = static_cast<double>(chunks_per_pair(s, phase)) * chunk_bytes;
  if (bytes == 0) return {};
  set_channel(phase.channel);
  set_arrival_cost(s, run.begin, run.begin + 1);
  std::vector<std::uint32_t> actors(family.size());
  std::map<BlockId, std::vector<std::uint32_t>> by_block;
  for (std::uint32_t m = 0; m < family.size(); ++m) {
    actors[m] = family.actor(group, m);
    by_block[topology().block_of(placement.gpu(call.groups.actor(call_group, actors[m])))].push_back(actors[m]);
  }
  PairTimes times;
  bool spread = by_block.size() == 1;
  if (!spread) {
    BUSBAR_ASSIGN(spread, spread_pairs(call, call_group, actors, bytes, times));
  }
  if (!spread && std::uint64_t{family.size()} * family.size() > kMostRouted)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{} over {} ranks is {} routes that are not alike; choose another algorithm, such as bruck",
                    name_of(phase.pattern), family.size(), std::uint64_t{family.size()} * family.size()),
        {}};
  for (const auto& [block, own] : by_block)
    for (const std::uint32_t a : own)
      for (const std::uint32_t b : spread ? own : actors)
        if (a != b) BUSBAR_RETURN_IF_ERROR(connect_pair(call, call_group, a, b, bytes, times));
  builder->stage.latency_ps = std::max(builder->stage.latency_ps, times.latest_ps);
  builder->emit_free(loads, bytes, longest_load_ps(std::max(times.alone_ps, lanes.cap > 0 ? bytes / lanes.cap : 0)));
  return {};
}

}  // namespace busbar
