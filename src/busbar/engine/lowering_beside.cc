// What the channels and groups of a call load links with, side by side: each hop of a piece through a tree, a chain or
// switches that reduce is as slow as its links are full of the others' pieces.
#include <queue>
#include <tuple>

#include "busbar/engine/lowering_state.h"

namespace busbar {

/// Opens the runs of step `step` of all channels and groups and keeps them, with the sum of their loads. Not those of
/// halving and the like, whose rounds cross other links each.
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
        if (all.loads.empty()) all.loads.assign(capacities(), 0.0);
        for (const LinkId l : touched) all.loads[index(l)] += weight[index(l)];
        all.kept[c].push_back(put_by());
      }
    if (!is_stepwise(phase.pattern) && !is_ring(phase.pattern))
      for (RoutedRun& run : all.kept[c]) by_hops.push_back({&run, phase.pattern == Pattern::kTreeReduce});
  }
  time_hops(by_hops);
  if (opened < 2) all.loads.clear();  // it has its links to itself
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

namespace {

/// Sends of trees and chains in the order in which they become possible.
class HopQueue {
 public:
  struct Hop {
    double ready_ps;
    std::uint32_t run, hop;
    bool operator>(const Hop& o) const {
      return std::tie(ready_ps, run, hop) > std::tie(o.ready_ps, o.run, o.hop);
    }
  };
  explicit HopQueue(std::span<const HopRun> runs) : runs_(runs), waits_(runs.size()), ready_(runs.size()) {
    for (std::uint32_t r = 0; r < runs.size(); ++r) {
      const auto& hops = runs[r].run->connections;
      waits_[r].assign(hops.size() + 1, 0);
      ready_[r].assign(hops.size(), 0.0);
      next_.emplace_back();
      if (runs[r].up) {
        for (const Connection& c : hops) waits_[r][c.toward_root == kNone32 ? hops.size() : c.toward_root]++;
      } else {
        next_[r] = followers(hops);
        for (std::uint32_t i = 0; i < hops.size(); ++i) waits_[r][i] = hops[i].toward_root != kNone32;
      }
      for (std::uint32_t i = 0; i < hops.size(); ++i)
        if (waits_[r][i] == 0) queue_.push({0, r, i});
    }
  }
  /// All that become possible next, at one time.
  std::span<const Hop> pop() {
    constexpr double kAlike = 1e-9;  // round-off
    batch_.clear();
    while (!queue_.empty() && (batch_.empty() || queue_.top().ready_ps <= batch_[0].ready_ps * (1 + kAlike))) {
      batch_.push_back(queue_.top());
      queue_.pop();
    }
    return batch_;
  }
  void arrive(const Hop& h, double at_ps) {
    if (!runs_[h.run].up) {
      for (const std::uint32_t next : next_[h.run].row(h.hop)) queue_.push({at_ps, h.run, next});
      return;
    }
    const std::uint32_t next = runs_[h.run].run->connections[h.hop].toward_root;
    if (next == kNone32) return;
    double& ready_ps = ready_[h.run][next];
    ready_ps = std::max(ready_ps, at_ps);
    if (--waits_[h.run][next] == 0) queue_.push({ready_ps, h.run, next});
  }

 private:
  static Csr<std::uint32_t> followers(const std::vector<Connection>& hops) {
    Csr<std::uint32_t> out;
    out.begin.assign(hops.size() + 1, 0);
    for (const Connection& c : hops)
      if (c.toward_root != kNone32) ++out.begin[c.toward_root + 1];
    for (std::size_t i = 0; i < hops.size(); ++i) out.begin[i + 1] += out.begin[i];
    std::vector<std::uint32_t> at(out.begin.begin(), out.begin.end() - 1);
    out.values.resize(out.begin.back());
    for (std::uint32_t i = 0; i < hops.size(); ++i)
      if (hops[i].toward_root != kNone32) out.values[at[hops[i].toward_root]++] = i;
    return out;
  }
  std::span<const HopRun> runs_;
  std::vector<std::vector<std::uint32_t>> waits_;
  std::vector<std::vector<double>> ready_;
  std::vector<Csr<std::uint32_t>> next_;
  std::priority_queue<Hop, std::vector<Hop>, std::greater<>> queue_;
  std::vector<Hop> batch_;
};

}  // namespace

/// What each hop of trees and chains takes, waiting included: a link carries first what came first, and at one rate
/// what came at one time.
void Lowering::State::time_hops(std::span<const HopRun> runs) {
  HopQueue queue(runs);
  std::vector<LinkId> met;
  for (auto batch = queue.pop(); !batch.empty(); batch = queue.pop()) {
    const auto each_link = [&](auto&& f) {
      for (const HopQueue::Hop& h : batch) {
        RoutedRun& run = *runs[h.run].run;
        Connection& c = run.connections[h.hop];
        for (std::uint32_t k = c.begin; k < c.end; ++k) f(c, run.path[k]);
      }
    };
    each_link([&](const Connection& c, const LinkShare& l) {
      if (round_load[index(l.link)] == 0) met.push_back(l.link);
      round_load[index(l.link)] += l.share * c.bytes * sent_per_byte(c);
    });
    const double now = batch[0].ready_ps;
    for (const LinkId l : met) {
      free_at[index(l)] = std::max(free_at[index(l)], now) + round_load[index(l)] / rate_of(l);
      round_load[index(l)] = 0;
    }
    met.clear();
    for (const HopQueue::Hop& h : batch) {
      Connection& c = runs[h.run].run->connections[h.hop];
      c.transfer_ps = cap > 0 ? c.bytes / cap : 0;
    }
    each_link([&](Connection& c, const LinkShare& l) {
      c.transfer_ps = std::max(c.transfer_ps, free_at[index(l.link)] - now);
    });
    for (const HopQueue::Hop& h : batch) {
      const Connection& c = runs[h.run].run->connections[h.hop];
      queue.arrive(h, now + c.transfer_ps + c.latency_ps);
    }
  }
  for (const HopRun& r : runs)
    for (const LinkShare& l : r.run->path) free_at[index(l.link)] = 0;
}

/// The open run as it is, which is closed by that.
RoutedRun Lowering::State::put_by() {
  RoutedRun out;
  out.path.swap(path);
  out.connections.swap(connections);
  path.reserve(out.path.size());  // the next run is mostly as long
  connections.reserve(out.connections.size());
  out.loads.reserve(touched.size());
  for (const LinkId l : touched) out.loads.emplace_back(l, weight[index(l)]);
  forget_weights();
  return out;
}

/// Opens run `step` of channel `c` for one group of one group of ranks: as it was kept, else anew.
Status Lowering::State::reopen(SideBySide& all, const LoweredCall& out, const Schedule& s, PhaseRun run, std::size_t c,
                               std::uint32_t cg, std::uint32_t g, double chunk_bytes) {
  beside = all.loads.empty() ? nullptr : &all.loads;
  if (all.kept[c].empty()) return open_run(out.call, s, run, cg, g, chunk_bytes);
  const Phase& phase = s.phases[run.begin];
  const GroupFamily& family = s.families[phase.family];
  RoutedRun& kept = all.kept[c][std::size_t{cg} * family.groups() + g];
  channel = phase.channel;
  path = std::move(kept.path);
  connections = std::move(kept.connections);
  for (const auto& [link, load] : kept.loads) {
    weight[index(link)] = load;
    touched.push_back(link);
  }
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

/// What each send of the open run takes while all that goes on beside it is under way.
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

}  // namespace busbar
