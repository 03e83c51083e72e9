#include "busbar/routing/internal/hashed_pairs.h"

#include <algorithm>
#include <utility>

#include "busbar/base/cores.h"
#include "busbar/routing/flow_name.h"

namespace busbar::routing {

std::uint32_t PairSpread::State::HashedPairs::share_number(double share) {
  const auto number = std::find(shares_.begin(), shares_.end(), share) - shares_.begin();
  if (static_cast<std::size_t>(number) == shares_.size()) shares_.push_back(share);
  return static_cast<std::uint32_t>(number);
}

bool PairSpread::State::HashedPairs::add(std::uint32_t source, std::uint32_t sink) {
  constexpr double kMostFlows = 1 << 22;
  constexpr std::size_t kMostStarts = 1 << 18;
  State& s = state_;
  const Source& from = s.sources[source];
  const Sink& to = s.sinks[sink];
  Task task{source, sink, starts_.size(), 0, 0};
  const double each = 1.0 / s.lanes;
  for (std::uint32_t lane = 0; lane < s.lanes; ++lane) {
    const Leg &out = from.to[to.far[lane]], &in = to.by[lane];
    const double ps = s.way_ps[out.attachment * s.attachments.size() + in.attachment];
    task.fixed_ps += each * (out.ps + in.ps + (std::isnan(ps) ? 0 : ps));
    if (!std::isnan(ps)) continue;
    const Way w = s.way(out.attachment, in.attachment);
    const Attachment& a = s.attachments[out.attachment];
    const std::vector<topology::LinkId> up = s.ports(a.nic);
    for (std::uint32_t p = 0; p < a.switches.size(); ++p) {
      if (w.up[p] == 0) continue;
      int hops = FabricTable::kFar;  // asked here, for threads may not extend the table
      for (const std::uint32_t end : s.attachments[in.attachment].switches)
        hops = std::min<int>(hops, s.r.fabric.distance(a.switches[p], end));
      if (hops >= FabricTable::kFar) return false;
      const double share = each * w.up[p];
      starts_.push_back({lane, a.switches[p], share_number(share), share});
      if (a.wide()) task.fixed_ps += share * s.latency_ps[s.r.topology.link_class_index(up[p])];
    }
  }
  task.end = starts_.size();
  tasks_.push_back(task);
  flows_ += s.pairs_of(source, sink) * static_cast<double>(task.end - task.first);
  if (flows_ >= kMostFlows || starts_.size() >= kMostStarts) walk_all();
  return true;
}

void PairSpread::State::HashedPairs::finish() {
  walk_all();
  if (state_.walkers.empty()) return;
  Walker& all = *state_.walkers.front();
  for (const auto& walker : state_.walkers) {
    if (walker.get() == &all) continue;
    for (const topology::LinkId l : walker->touched) {
      if (std::isinf(all.least_ps[index(l)])) all.touched.push_back(l);
      all.least_ps[index(l)] = std::min(all.least_ps[index(l)], std::exchange(walker->least_ps[index(l)], INFINITY));
      for (std::size_t i = 0; i < walker->flows.size(); ++i)
        all.flows[i][index(l)] += std::exchange(walker->flows[i][index(l)], 0);
    }
    walker->touched.clear();
  }
  for (const topology::LinkId l : all.touched) {
    double pairs = 0;
    for (std::size_t i = 0; i < shares_.size(); ++i) pairs += shares_[i] * std::exchange(all.flows[i][index(l)], 0);
    state_.add(l, pairs, std::exchange(all.least_ps[index(l)], INFINITY));
  }
  all.touched.clear();
}

/// Walks the flows of all tasks, in chunks of tasks that mostly lead to the same switches, until it is stopped.
void PairSpread::State::HashedPairs::walk_all() {
  constexpr std::size_t kChunk = 16;
  const bool few = flows_ < state_.least_flows;
  const std::size_t chunks = (tasks_.size() + kChunk - 1) / kChunk;
  const std::size_t threads = std::min<std::size_t>(few ? 1 : state_.threads, chunks);
  while (state_.walkers.size() < threads) state_.walkers.push_back(std::make_unique<Walker>());
  for (const auto& walker : state_.walkers) prepare(*walker);
  share_out(chunks, threads, [&](std::size_t chunk, std::size_t thread) {
    for (std::size_t t = chunk * kChunk; t < std::min(tasks_.size(), (chunk + 1) * kChunk) && !stops(state_.stop); ++t)
      walk(tasks_[t], *state_.walkers[thread]);
  });
  for (const Task& t : tasks_) state_.count_pairs(t.source, t.sink, t.low, t.high);
  tasks_.clear();
  starts_.clear();
  flows_ = 0;
}

void PairSpread::State::HashedPairs::prepare(Walker& walker) const {
  Router::State& r = state_.r;
  walker.least_ps.resize(r.topology.link_count(), INFINITY);
  if (walker.flows.size() < shares_.size()) walker.flows.resize(shares_.size());
  for (auto& flows : walker.flows) flows.resize(r.topology.link_count());
  while (walker.walks.size() < state_.lanes) walker.walks.emplace_back(r.topology, r.fabric, r.seed);
  walker.aimed.assign(state_.lanes, kNone32);
}

void PairSpread::State::HashedPairs::aim(const Task& task, Walker& walker) const {
  const Sink& to = state_.sinks[task.sink];
  for (std::size_t i = task.first; i < task.end; ++i) {
    const std::uint32_t lane = starts_[i].lane, attachment = to.by[lane].attachment;
    if (walker.aimed[lane] == attachment) continue;
    walker.walks[lane].aim(state_.attachments[attachment].switches, state_.latency_ps);
    walker.aimed[lane] = attachment;
  }
}

// HOT: 2^28 flows at most, some 10 ns for each hop.
void PairSpread::State::HashedPairs::walk(Task& task, Walker& walker) const {
  const State& s = state_;
  const Sink& to = s.sinks[task.sink];
  aim(task, walker);
  for (const std::uint32_t b : to.members)
    for (const std::uint32_t a : s.sources[task.source].members) {
      if (s.block[a] == s.block[b]) continue;
      double ps = task.fixed_ps;
      walker.steps.clear();
      const auto take = [&](topology::LinkId l, const Start& start, double latency) {
        ++walker.flows[start.share][index(l)];
        ps += start.part * latency;
        walker.steps.push_back(l);
      };
      for (std::size_t i = task.first; i < task.end; ++i) {
        const Start& start = starts_[i];
        PairWalk& walk = walker.walks[start.lane];
        const std::uint64_t flow = flow_name(ends_.gpu[a], ends_.gpu[b], ends_.lane[start.lane]);
        for (std::uint32_t at = start.at;;) {
          const PairWalk::Row& row = walk.row(at);
          if (row.last && !s.attachments[to.by[start.lane].attachment].wide()) break;
          const PairWalk::Hop& hop = walk.hop(row, flow);
          if (row.last) {
            const topology::DeviceId nic = ends_.nic[std::size_t{b} * s.lanes + start.lane];
            const topology::LinkId down = topology::reverse(s.ports(nic)[index(hop.link)]);
            take(down, start, s.latency_ps[s.r.topology.link_class_index(down)]);
            break;
          }
          take(hop.link, start, hop.ps);
          at = hop.next;
        }
      }
      for (const topology::LinkId l : walker.steps) {
        double& least = walker.least_ps[index(l)];
        if (std::isinf(least)) walker.touched.push_back(l);
        least = std::min(least, ps);
      }
      task.low = std::min(task.low, ps);
      task.high = std::max(task.high, ps);
    }
}

}  // namespace busbar::routing
