#include "busbar/step/internal/program_loop.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/base/grouped.h"
#include "busbar/base/id.h"

namespace busbar::step {
namespace {

/// The tag by which the engine reports ends.
std::uint64_t tag_of(program::OpIndex::Place p) { return (std::uint64_t{p.use} << 32) | p.at; }
program::OpIndex::Place place_of(std::uint64_t tag) {
  return {static_cast<std::uint32_t>(tag >> 32), static_cast<std::uint32_t>(tag)};
}

}  // namespace

ProgramLoop::ProgramLoop(const program::Program& program, engine::Engine& engine,
                         const workload::Contention& contention, std::vector<program::CallId> calls,
                         std::vector<PassShape> shapes)
    : program_(program), ids_(program), engine_(engine), contention_(contention) {
  run_.calls = std::move(calls);
  run_.shapes = std::move(shapes);
}

Result<ProgramRun> ProgramLoop::run() {
  set_up();
  for (std::uint32_t s = 0; s < streams_.size(); ++s) start_next(s);
  while (done_ < ids_.count()) {
    if (step()) continue;
    BUSBAR_RETURN_IF_ERROR(engine_.status());
    return invalid(stuck_message());
  }
  run_.length = now_.since_start();
  count_whole_runs();
  return std::move(run_);
}

void ProgramLoop::set_up() {
  run_.ops.resize(program_.ops.size());
  run_.uses.resize(program_.uses.size());
  uses_.resize(program_.uses.size());
  apart_.assign(program_.passes.size(), {});
  role_begin_.push_back(0);
  for (std::uint32_t r = 0; r < program_.roles.size(); ++r) {
    for (std::size_t s = 0; s < program_.roles[r].streams.size(); ++s) streams_.emplace_back().role = r;
    role_begin_.push_back(static_cast<std::uint32_t>(streams_.size()));
  }
  rate_.assign(program_.roles.size(), kFullRate);
  ids_.for_each_piece([&](Place p) { streams_[stream_of(p)].queue.push_back(p.at); },
                      [&](std::uint32_t u) {
                        for (const std::uint16_t s : shape(u).streams)
                          streams_[role_begin_[role_of_use(u)] + s].queue.push_back(u | kUseBit);
                      });
  link_targets();
}

void ProgramLoop::add_target(program::OpId source, Target target) {
  const Place p = ids_.place(source);
  target.from = p.at;
  p.use == kNoUse ? op_pairs_.emplace_back(p.at, target) : use_pairs_.emplace_back(p.use, target);
}

/// Inverts the dependencies.
void ProgramLoop::link_targets() {
  waiting_.resize(program_.ops.size());
  for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
    const auto deps = program_.deps.row(i);
    waiting_[i] = static_cast<std::uint32_t>(deps.size());
    for (const program::OpId dep : deps) add_target(dep, {kNoUse, i, 0});
  }
  for (std::uint32_t u = 0; u < program_.uses.size(); ++u) {
    const auto deps = program_.outside.row(u);
    BUSBAR_CHECK(deps.size() <= program::Program::kMostOutside) << "a pass waits for too much";
    for (std::uint32_t n = 0; n < deps.size(); ++n) {
      uses_[u].missing |= 1u << n;
      add_target(deps[n], {u, n, 0});
    }
  }
  const auto rows = [](std::size_t n, const std::vector<std::pair<std::uint32_t, Target>>& pairs, Csr<Target>& out) {
    out = grouped<Target>(n, [&](auto&& add) {
      for (const auto& [row, target] : pairs) add(row, target);
    });
  };
  rows(program_.ops.size(), op_pairs_, op_targets_);
  rows(program_.uses.size(), use_pairs_, use_targets_);
  released_.assign(use_targets_.values.size(), 0);
  for (const program::Pass& pass : program_.passes) exits_.emplace_back(pass.ops.size(), 0);
  for (const auto& [use, target] : use_pairs_) exits_[program_.uses[use].pass][target.from] = 1;
}

bool ProgramLoop::outdated(const Event& e) const {
  return e.version != (e.kind == Kind::kDelay ? streams_[e.who].version : uses_[e.who].version);
}

/// Handles one event; false if no event is left. HOT: bench/run main-job,
/// after-load.
bool ProgramLoop::step() {
  while (!events_.empty() && outdated(events_.top())) events_.pop();
  const SimTime limit = events_.empty() ? SimTime::max() : events_.top().at;
  if (!in_flight_.empty()) {
    if (const auto finished = engine_.advance(limit)) {
      BUSBAR_CHECK(finished->at >= now_) << "the engine went back in time";
      now_ = finished->at;
      const Place op = place_of(finished->tag);
      const program::CallId call = run_.calls[index(ids_.op(op).call)];
      in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), call));
      change_rate(index_of_role(op), share(ids_.op(op)));
      finish(op);
      return true;
    }
  }
  if (events_.empty()) return false;
  const Event e = events_.top();
  events_.pop();
  now_ = e.at;
  if (e.kind == Kind::kWhole) {
    finish_whole(e.who);
  } else if (e.kind == Kind::kExit) {
    released_[e.target] = 1;
    satisfy(use_targets_.values[e.target]);
    wake(use_targets_.values[e.target]);
  } else if (e.kind == Kind::kLeave) {
    leave(e.who, e.target);
    start_next(role_begin_[role_of_use(e.who)] + shape(e.who).streams[e.target]);
  } else {
    ++streams_[e.who].version;
    finish(streams_[e.who].running);
  }
  return true;
}

void ProgramLoop::finish(Place op) {
  ++done_;
  const std::uint32_t stream = stream_of(op);
  streams_[stream].busy = false;
  if (op.use == kNoUse) {
    run_.ops[op.at].end = now_;
    const auto targets = op_targets_.row(op.at);
    for (const Target& t : targets) satisfy(t);
    start_next(stream);
    for (const Target& t : targets) wake(t);
    return;
  }
  const std::uint32_t k = run_.uses[op.use].split;
  run_.splits[k][op.at].end = now_;
  ++uses_[op.use].ended;
  const PassShape& form = shape(op.use);
  for (const std::uint32_t next : form.successors.row(op.at)) --split_waiting_[k][next];
  const bool exit = exits_[program_.uses[op.use].pass][op.at] != 0;
  const std::uint32_t begin = use_targets_.begin[op.use], end = exit ? use_targets_.begin[op.use + 1] : begin;
  for (std::uint32_t i = begin; i < end; ++i)
    if (use_targets_.values[i].from == op.at) satisfy(use_targets_.values[i]);
  start_next(stream);
  for (const std::uint32_t next : form.successors.row(op.at)) start_next(stream_of({op.use, next}));
  for (std::uint32_t i = begin; i < end; ++i)
    if (use_targets_.values[i].from == op.at) wake(use_targets_.values[i]);
}

void ProgramLoop::finish_whole(std::uint32_t use) {
  uses_[use].state = State::kDone;
  done_ += pass(use).ops.size() - uses_[use].ended;
  std::erase(whole_, use);
  if (run_.uses[use].split != UseRun::kWhole) note_rejoined(use);
  for (std::uint32_t k = 0; k < shape(use).streams.size(); ++k)
    if ((uses_[use].left >> k & 1) == 0) leave(use, k);
  const std::uint32_t begin = use_targets_.begin[use], end = use_targets_.begin[use + 1];
  for (std::uint32_t i = begin; i < end; ++i)
    if (!released_[i]) satisfy(use_targets_.values[i]);
  start_streams(use);
  for (std::uint32_t i = begin; i < end; ++i)
    if (!released_[i]) wake(use_targets_.values[i]);
}

/// A stream ends its part of a pass that is one event.
void ProgramLoop::leave(std::uint32_t use, std::uint32_t k) {
  uses_[use].left |= 1u << k;
  Stream& stream = streams_[role_begin_[role_of_use(use)] + shape(use).streams[k]];
  stream.busy = false;
  ++stream.next;
}

/// One dependency of the target has ended.
void ProgramLoop::satisfy(const Target& t) {
  if (t.use == kNoUse) {
    --waiting_[t.at];
    return;
  }
  uses_[t.use].missing &= ~(1u << t.at);
  if (uses_[t.use].state != State::kSplit) return;
  for (const std::uint32_t op : shape(t.use).after_outside.row(t.at)) --split_waiting_[run_.uses[t.use].split][op];
}

/// Starts the target, whose last dependency has ended.
void ProgramLoop::wake(const Target& t) {
  if (t.use == kNoUse) {
    if (waiting_[t.at] == 0) start_next(stream_of({kNoUse, t.at}));
  } else if (uses_[t.use].state == State::kWaiting) {
    consider(t.use);
  } else if (uses_[t.use].state == State::kSplit) {
    for (const std::uint32_t op : shape(t.use).after_outside.row(t.at)) start_next(stream_of({t.use, op}));
  }
}

void ProgramLoop::start_streams(std::uint32_t use) {
  for (const std::uint16_t s : shape(use).streams) start_next(role_begin_[role_of_use(use)] + s);
}

/// Starts the head of a stream if the stream is idle and no dependency is missing.
void ProgramLoop::start_next(std::uint32_t s) {
  Stream& stream = streams_[s];
  while (!stream.busy) {
    if (stream.split != kNoUse) {
      if (stream.cursor < stream.row.size()) {
        const std::uint32_t op = stream.row[stream.cursor];
        if (split_waiting_[run_.uses[stream.split].split][op] != 0) return;
        if (rejoin(stream.split, op)) return;
        ++stream.cursor;
        return begin(s, {stream.split, op});
      }
      stream.split = kNoUse;
      ++stream.next;
    }
    if (stream.next == stream.queue.size()) return;
    const std::uint32_t head = stream.queue[stream.next];
    if ((head & kUseBit) == 0) {
      if (waiting_[head] != 0) return;
      ++stream.next;
      return begin(s, {kNoUse, head});
    }
    const std::uint32_t use = head & ~kUseBit;
    if (uses_[use].state == State::kWaiting) return consider(use);
    const PassShape& form = shape(use);
    const auto place = std::lower_bound(form.streams.begin(), form.streams.end(), s - role_begin_[stream.role]);
    stream.split = use;
    stream.row = form.stream_ops.row(static_cast<std::uint32_t>(place - form.streams.begin()));
    stream.cursor = 0;
  }
}

void ProgramLoop::begin(std::uint32_t s, Place p) {
  Stream& stream = streams_[s];
  stream.busy = true;
  stream.running = p;
  (p.use == kNoUse ? run_.ops[p.at] : run_.splits[run_.uses[p.use].split][p.at]) = {now_, now_};
  const program::Op& op = ids_.op(p);
  stream.delay = op.kind == program::OpKind::kDelay;
  if (!stream.delay) {
    const program::CallId call = run_.calls[index(op.call)];
    meet(call, stream.role, share(op));
    engine_.start(call, tag_of(p), now_);
    in_flight_.push_back(call);
    change_rate(stream.role, -share(op));
  } else {
    split_whole_of(stream.role);
    stream.work_left = op.duration.in_ps() * kFullRate;
    stream.since = now_;
    schedule_end(s);
  }
}

std::int64_t ProgramLoop::share(const program::Op& op) const {
  return static_cast<std::int64_t>(contention_.of(op.cls) * kFullRate + 0.5);
}

void ProgramLoop::schedule_end(std::uint32_t s) {
  const std::int64_t rate = rate_[streams_[s].role];
  const auto left = Duration::ps((streams_[s].work_left + rate - 1) / rate);
  events_.push({now_ + left, sequence_++, s, ++streams_[s].version, 0, Kind::kDelay});
}

/// A collective of the role starts or ends: its running delays continue at another rate.
void ProgramLoop::change_rate(std::uint32_t role, std::int64_t by) {
  if (by == 0) return;
  for (std::uint32_t s = role_begin_[role]; s < role_begin_[role + 1]; ++s) {
    Stream& stream = streams_[s];
    if (!runs_delay(stream)) continue;
    const std::int64_t spent = (now_ - stream.since).in_ps() * rate_[role];
    stream.work_left = std::max<std::int64_t>(0, stream.work_left - spent);
    stream.since = now_;
  }
  rate_[role] += by;
  BUSBAR_CHECK(rate_[role] > 0) << "collectives took all compute of role " << role;
  for (std::uint32_t s = role_begin_[role]; s < role_begin_[role + 1]; ++s) {
    if (runs_delay(streams_[s])) schedule_end(s);
  }
}

std::string ProgramLoop::stuck_message() const {
  for (const Stream& stream : streams_) {
    if (stream.next == stream.queue.size()) continue;
    const std::uint32_t head = stream.queue[stream.next];
    const program::Op& op = head & kUseBit ? pass(head & ~kUseBit).ops.front() : program_.ops[head];
    return fmt::format("operations wait for each other in a circle, among them '{}' of {}", program_.labels[op.label],
                       program_.roles[stream.role].name);
  }
  return "the engine lost a collective";
}

}  // namespace busbar::step
