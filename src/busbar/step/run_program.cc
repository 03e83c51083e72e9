#include "busbar/step/run_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <queue>
#include <tuple>

#include "busbar/base/check.h"
#include "busbar/base/id.h"

namespace busbar {
namespace {

/// Work of a delay is counted in thousandths of picoseconds, so that a share of 0.15 re-times exactly.
constexpr std::int64_t kFullRate = 1000;

struct Stream {
  std::vector<OpId> ops;   ///< in program order
  std::uint32_t next = 0;  ///< first operation not started
  OpId running = kNone<OpId>;
  std::uint32_t role = 0;
  // While a delay runs:
  std::int64_t work_left = 0;  ///< ps x kFullRate
  SimTime since;               ///< when work_left was true
  std::uint32_t version = 0;   ///< outdates the ends in the queue
};

struct DelayEnd {
  SimTime at;
  std::uint64_t sequence = 0;
  std::uint32_t stream = 0, version = 0;
  bool operator>(const DelayEnd& o) const { return std::tie(at, sequence) > std::tie(o.at, o.sequence); }
};

class Loop {
 public:
  Loop(const Program& program, Engine& engine, const Contention& contention)
      : program_(program), engine_(engine), contention_(contention) {}

  Result<ProgramRun> run() {
    for (const CollectiveCall& call : program_.calls) {
      BUSBAR_ASSIGN(const CallId id, engine_.prepare(call));
      run_.calls.push_back(id);
    }
    set_up();
    for (std::uint32_t s = 0; s < streams_.size(); ++s) start_next(s, kNone<OpId>);
    while (done_ < program_.ops.size()) {
      if (step()) continue;
      BUSBAR_RETURN_IF_ERROR(engine_.status());
      return invalid(stuck_message());
    }
    run_.length = now_.since_start();
    return std::move(run_);
  }

 private:
  void set_up() {
    run_.ops.resize(program_.ops.size());
    role_begin_.push_back(0);
    for (std::uint32_t r = 0; r < program_.roles.size(); ++r) {
      for (std::size_t s = 0; s < program_.roles[r].streams.size(); ++s) streams_.emplace_back().role = r;
      role_begin_.push_back(static_cast<std::uint32_t>(streams_.size()));
    }
    rate_.assign(program_.roles.size(), kFullRate);
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) streams_[stream_of(i)].ops.push_back(static_cast<OpId>(i));
    link_successors();
  }

  /// Transposes the dependencies.
  void link_successors() {
    const auto n = static_cast<std::uint32_t>(program_.ops.size());
    waiting_.resize(n);
    successors_.begin.assign(n + 1, 0);
    for (const OpId dep : program_.deps.values) ++successors_.begin[index(dep) + 1];
    for (std::uint32_t i = 0; i < n; ++i) successors_.begin[i + 1] += successors_.begin[i];
    successors_.values.resize(program_.deps.values.size());
    std::vector<std::uint32_t> fill(successors_.begin.begin(), successors_.begin.end() - 1);
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto deps = program_.deps.row(i);
      waiting_[i] = static_cast<std::uint32_t>(deps.size());
      for (const OpId dep : deps) successors_.values[fill[index(dep)]++] = static_cast<OpId>(i);
    }
  }

  std::uint32_t stream_of(std::uint32_t op) const {
    return role_begin_[index(program_.ops[op].role)] + program_.ops[op].stream;
  }

  /// One event; false when nothing can happen any more.
  bool step() {
    while (!ends_.empty() && ends_.top().version != streams_[ends_.top().stream].version) ends_.pop();
    const SimTime limit = ends_.empty() ? SimTime::max() : ends_.top().at;
    if (in_flight_ > 0) {
      if (const auto finished = engine_.advance(limit)) {
        BUSBAR_CHECK(finished->at >= now_) << "the engine went back in time";
        now_ = finished->at;
        --in_flight_;
        const auto op = static_cast<OpId>(finished->tag);
        change_rate(streams_[stream_of(index(op))].role, share(op));
        finish(op);
        return true;
      }
    }
    if (ends_.empty()) return false;
    now_ = ends_.top().at;
    Stream& stream = streams_[ends_.top().stream];
    ends_.pop();
    ++stream.version;
    finish(stream.running);
    return true;
  }

  void finish(OpId op) {
    run_.ops[index(op)].end = now_;
    run_.last = op;
    ++done_;
    const std::uint32_t stream = stream_of(index(op));
    streams_[stream].running = kNone<OpId>;
    for (const OpId next : successors_.row(index(op))) --waiting_[index(next)];
    start_next(stream, op);
    for (const OpId next : successors_.row(index(op))) {
      if (waiting_[index(next)] == 0) start_next(stream_of(index(next)), op);
    }
  }

  /// Starts the head of a stream when the stream is idle and nothing is missing.
  void start_next(std::uint32_t s, OpId cause) {
    Stream& stream = streams_[s];
    if (stream.running != kNone<OpId> || stream.next == stream.ops.size()) return;
    const OpId op = stream.ops[stream.next];
    if (waiting_[index(op)] != 0) return;
    ++stream.next;
    stream.running = op;
    run_.ops[index(op)] = {now_, now_, cause};
    if (program_.ops[index(op)].kind == OpKind::kCollective) {
      engine_.start(run_.calls[index(program_.ops[index(op)].call)], index(op), now_);
      ++in_flight_;
      change_rate(stream.role, -share(op));
    } else {
      stream.work_left = program_.ops[index(op)].duration.in_ps() * kFullRate;
      stream.since = now_;
      schedule_end(s);
    }
  }

  std::int64_t share(OpId op) const {
    return static_cast<std::int64_t>(contention_.of(program_.ops[index(op)].cls) * kFullRate + 0.5);
  }

  void schedule_end(std::uint32_t s) {
    const std::int64_t rate = rate_[streams_[s].role];
    const auto left = Duration::ps((streams_[s].work_left + rate - 1) / rate);
    ends_.push({now_ + left, sequence_++, s, ++streams_[s].version});
  }

  /// A collective of the role started or ended: its running delays go on at another rate.
  void change_rate(std::uint32_t role, std::int64_t by) {
    if (by == 0) return;
    for (std::uint32_t s = role_begin_[role]; s < role_begin_[role + 1]; ++s) {
      Stream& stream = streams_[s];
      if (!is_delay(stream.running)) continue;
      const std::int64_t spent = (now_ - stream.since).in_ps() * rate_[role];
      stream.work_left = std::max<std::int64_t>(0, stream.work_left - spent);
      stream.since = now_;
    }
    rate_[role] += by;
    BUSBAR_CHECK(rate_[role] > 0) << "collectives took all compute of role " << role;
    for (std::uint32_t s = role_begin_[role]; s < role_begin_[role + 1]; ++s) {
      if (is_delay(streams_[s].running)) schedule_end(s);
    }
  }

  bool is_delay(OpId op) const { return op != kNone<OpId> && program_.ops[index(op)].kind == OpKind::kDelay; }

  std::string stuck_message() const {
    for (const Stream& stream : streams_) {
      if (stream.next == stream.ops.size()) continue;
      const Op& op = program_.ops[index(stream.ops[stream.next])];
      return fmt::format("operations wait for each other in a circle, among them '{}' of {}", program_.labels[op.label],
                         program_.roles[stream.role].name);
    }
    return "the engine lost a collective";
  }

  const Program& program_;
  Engine& engine_;
  const Contention contention_;
  ProgramRun run_;
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> role_begin_;  ///< roles + 1 offsets into streams_
  std::vector<std::int64_t> rate_;         ///< per role, thousandths
  std::vector<std::uint32_t> waiting_;     ///< per op: dependencies not ended
  Csr<OpId> successors_;
  std::priority_queue<DelayEnd, std::vector<DelayEnd>, std::greater<>> ends_;
  SimTime now_;
  std::uint64_t sequence_ = 0, done_ = 0, in_flight_ = 0;
};

}  // namespace

Result<ProgramRun> run_program(const Program& program, Engine& engine, const Contention& contention) {
  return Loop(program, engine, contention).run();
}

}  // namespace busbar
