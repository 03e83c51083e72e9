#include "busbar/plan/internal/slowed_stream.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/program/passes.h"

namespace busbar::plan {
namespace {

/// Picoseconds of one stream of a role, in one pass or in all.
struct StreamSums {
  double kernels = 0;  ///< delays, alone
  double waits = 0;    ///< between two delays of the stream, at least
  double taken = 0;    ///< of each collective, its time x the share of compute that it takes
  double most_share = 0;
  void add(const StreamSums& o) {
    kernels += o.kernels;
    waits += o.waits;
    taken += o.taken;
    most_share = std::max(most_share, o.most_share);
  }
};

/// Operations in the order of their list. Of each one is kept how long after the latest delay before it, on any stream,
/// it ends at least.
class StreamWalk {
 public:
  StreamWalk(std::span<const program::Op> ops, std::span<const Duration> calls, const workload::Contention& contention)
      : ops_(ops), calls_(calls), contention_(contention), since_(ops.size()) {}

  /// `row`: of the operation's stream. `deps` calls its argument for each earlier operation that this one waits for.
  template <typename Deps>
  void add(std::uint32_t i, std::size_t row, Deps deps) {
    if (row >= sums.size()) {
      sums.resize(row + 1);
      last_.resize(row + 1, kNone32);
    }
    Since before;
    const auto follow = [&](std::uint32_t d) { before = later(before, since_[d]); };
    deps(follow);
    const std::uint32_t previous = last_[row];
    if (previous != kNone32) follow(previous);
    last_[row] = i;
    const program::Op& op = ops_[i];
    if (op.kind == program::OpKind::kDelay) {
      sums[row].kernels += static_cast<double>(op.duration.in_ps());
      if (previous != kNone32 && before.delay == previous) sums[row].waits += before.ps;
      since_[i] = {i, 0};
      return;
    }
    const auto time = static_cast<double>(calls_[index(op.call)].in_ps());
    const double share = counted_share(contention_, op.cls);
    sums[row].taken += share * time;
    sums[row].most_share = std::max(sums[row].most_share, share);
    since_[i] = {before.delay, before.ps + time};
  }
  /// Others run between the last and the next operation of these streams.
  void forget(std::size_t first, std::size_t end) {
    for (std::size_t row = first; row < std::min(end, last_.size()); ++row) last_[row] = kNone32;
  }

  std::vector<StreamSums> sums;  ///< by stream

 private:
  struct Since {
    std::uint32_t delay = kNone32;
    double ps = 0;
  };
  static Since later(const Since& a, const Since& b) {
    if (a.delay == kNone32 || b.delay == kNone32) return a.delay == kNone32 ? b : a;
    if (a.delay != b.delay) return a.delay > b.delay ? a : b;
    return a.ps > b.ps ? a : b;
  }

  std::span<const program::Op> ops_;
  std::span<const Duration> calls_;
  const workload::Contention& contention_;
  std::vector<Since> since_;
  std::vector<std::uint32_t> last_;  ///< operation of each stream
};

/// The least time of any stream of a role. While one of its kernels runs, collectives of other streams take their
/// shares; while none runs, at least for `waits`, they take nothing.
double least_of(std::span<const StreamSums> streams) {
  double most = 0;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    if (streams[s].kernels == 0) continue;
    double time = streams[s].kernels + streams[s].waits;
    for (std::size_t o = 0; o < streams.size(); ++o)
      if (o != s) time += std::max(0.0, streams[o].taken - streams[o].most_share * streams[s].waits);
    most = std::max(most, time);
  }
  return most;
}

std::vector<StreamSums> sums_of(const program::Pass& pass, std::span<const Duration> calls,
                                const workload::Contention& contention) {
  StreamWalk walk(pass.ops, calls, contention);
  for (std::uint32_t i = 0; i < pass.ops.size(); ++i)
    walk.add(i, pass.ops[i].stream, [&](const auto& follow) {
      for (const program::OpId dep : pass.deps.row(i))
        if ((index(dep) & program::Pass::kOutside) == 0) follow(index(dep));
    });
  return std::move(walk.sums);
}

}  // namespace

double counted_share(const workload::Contention& contention, program::OpClass purpose) {
  return std::floor(contention.of(purpose) * 1000 + 0.5) / 1000;
}

Duration slowed_streams(const program::Program& program, std::span<const Duration> calls,
                        const workload::Contention& contention) {
  std::vector<std::vector<StreamSums>> passes;
  for (const program::Pass& pass : program.passes) passes.push_back(sums_of(pass, calls, contention));
  std::vector<std::size_t> first{0};  // stream of each role
  for (const program::Role& role : program.roles) first.push_back(first.back() + role.streams.size());
  const program::OpIndex ids(program);
  StreamWalk walk(program.ops, calls, contention);
  std::vector<StreamSums> all(first.back());
  const auto add_use = [&](std::uint32_t u) {
    const std::size_t role = index(program.uses[u].role);
    walk.forget(first[role], first[role + 1]);
    const std::vector<StreamSums>& streams = passes[program.uses[u].pass];
    for (std::size_t s = 0; s < streams.size(); ++s) all[first[role] + s].add(streams[s]);
  };
  ids.for_each_piece(
      [&](program::OpIndex::Place p) {
        const program::Op& op = program.ops[p.at];
        walk.add(p.at, first[index(op.role)] + op.stream, [&](const auto& follow) {
          ids.for_each_dep(p, [&](program::OpId dep) {
            const program::OpIndex::Place d = ids.place(dep);
            if (d.use == program::OpIndex::kNoUse && d.at < p.at) follow(d.at);
          });
        });
      },
      add_use);
  for (std::size_t s = 0; s < walk.sums.size(); ++s) all[s].add(walk.sums[s]);
  double most = 0;
  for (std::size_t r = 0; r < program.roles.size(); ++r)
    most = std::max(most, least_of(std::span(all).subspan(first[r], program.roles[r].streams.size())));
  constexpr double kRounding = 1 - 1e-9;
  return Duration::ps(static_cast<std::int64_t>(most * kRounding));
}

}  // namespace busbar::plan
