// Passes as single events: when one may begin, and how it is split when other work would disturb it.
#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/base/id.h"
#include "busbar/step/internal/program_loop.h"

namespace busbar::step {
namespace {

/// Length of the overlap of two time spans.
std::int64_t overlap_ps(SimTime a_begin, SimTime a_end, SimTime b_begin, SimTime b_end) {
  return std::max<std::int64_t>(0, (std::min(a_end, b_end) - std::max(a_begin, b_begin)).in_ps());
}

}  // namespace

/// Whether operation `op` waits only for its stream. Pre: no operation of the pass has run.
bool ProgramLoop::may_start(std::uint32_t use, std::uint32_t op) const {
  if (shape(use).waits[op] != 0) return false;
  for (const program::OpId dep : pass(use).deps.row(op))
    if (uses_[use].missing >> (index(dep) & ~program::Pass::kOutside) & 1) return false;
  return true;
}

/// Called when a dependency of a pass that has not begun ends. Begins the pass as one event, or operation by operation
/// if an operation may start now but the whole pass may not.
void ProgramLoop::consider(std::uint32_t use) {
  const PassShape& form = shape(use);
  bool any = false, all = uses_[use].missing == 0;
  for (std::uint32_t k = 0; k < form.streams.size(); ++k) {
    const Stream& stream = streams_[role_begin_[role_of_use(use)] + form.streams[k]];
    const bool here = !stream.busy && stream.split == kNoUse && stream.next < stream.queue.size() &&
                      stream.queue[stream.next] == (use | kUseBit);
    if (!here)
      all = false;
    else
      any = any || may_start(use, form.stream_ops.row(k).front());
  }
  if (!any) return;
  if (all && form.whole && is_undisturbed(use))
    begin_whole(use, Duration());
  else
    split(use);
}

bool ProgramLoop::pass_apart(program::CallId call, std::uint32_t pass) {
  std::vector<std::uint8_t>& known = apart_[pass];
  if (known.size() <= index(call)) known.resize(index(call) + 1, 0);
  if (known[index(call)] == 0) {
    const std::vector<program::CallId>& calls = run_.shapes[pass].calls;
    const bool apart =
        std::all_of(calls.begin(), calls.end(), [&](program::CallId c) { return engine_.apart(call, c); });
    known[index(call)] = apart ? 1 : 2;
  }
  return known[index(call)] == 1;
}

bool ProgramLoop::is_undisturbed(std::uint32_t use) {
  const std::uint32_t role = role_of_use(use);
  if (rate_[role] != kFullRate) return false;
  for (std::uint32_t s = role_begin_[role]; s < role_begin_[role + 1]; ++s)
    if (runs_delay(streams_[s])) return false;  // the pass would slow it
  const std::uint32_t mine = program_.uses[use].pass;
  for (const program::CallId call : in_flight_)
    if (!pass_apart(call, mine)) return false;
  for (const std::uint32_t other : whole_) {
    if (role_of_use(other) == role) return false;
    for (const program::CallId call : shape(other).calls)
      if (!pass_apart(call, mine)) return false;
  }
  return true;
}

/// Begins what starts from `cut` on in the pass.
void ProgramLoop::begin_whole(std::uint32_t use, Duration cut) {
  const PassShape& form = shape(use);
  Use& state = uses_[use];
  state.state = State::kWhole;
  state.left = 0;
  state.cut = cut;
  run_.uses[use].begin = SimTime::at(now_.since_start() - cut);
  whole_.push_back(use);
  ++state.version;
  const auto at = [&](SimTime in_pass) { return run_.uses[use].begin + in_pass.since_start(); };
  for (std::uint32_t k = 0; k < form.streams.size(); ++k) {
    const OpRun& last = form.ops[form.stream_ops.row(k).back()];
    if (last.start.since_start() < cut) {
      state.left |= 1u << k;
      continue;
    }
    Stream& stream = streams_[role_begin_[role_of_use(use)] + form.streams[k]];
    stream.split = kNoUse;
    stream.busy = true;
    stream.running = {use, kNone32};
    stream.delay = false;
    if (last.end.since_start() < form.length)
      events_.push({at(last.end), sequence_++, use, state.version, k, Kind::kLeave});
  }
  for (std::uint32_t i = use_targets_.begin[use]; i < use_targets_.begin[use + 1]; ++i) {
    const OpRun& from = form.ops[use_targets_.values[i].from];
    if (from.start.since_start() < cut)
      released_[i] = 1;
    else if (from.end.since_start() < form.length)
      events_.push({at(from.end), sequence_++, use, state.version, i, Kind::kExit});
  }
  events_.push({at(SimTime::at(form.length)), sequence_++, use, state.version, 0, Kind::kWhole});
}

/// Whether exactly the operations that start before `cut` in the pass have ended, no other has started, and nothing
/// disturbs those.
bool ProgramLoop::may_rejoin(std::uint32_t use, Duration cut) {
  const PassShape& form = shape(use);
  if (uses_[use].missing != 0 || rate_[role_of_use(use)] != kFullRate) return false;
  for (std::uint32_t k = 0; k < form.streams.size(); ++k) {
    const auto row = form.stream_ops.row(k);
    const Stream& stream = streams_[role_begin_[role_of_use(use)] + form.streams[k]];
    const auto before = [&](std::uint32_t op) { return form.ops[op].start.since_start() < cut; };
    if (before(row.back())) {
      if (stream.split == use) return false;
      continue;
    }
    const std::uint32_t next = stream.cursor;
    if (stream.split != use || stream.busy || next == row.size() || before(row[next])) return false;
    if (next > 0 && !before(row[next - 1])) return false;
  }
  return is_undisturbed(use);
}

/// Begins the rest of a pass that runs operation by operation as one event, if nothing else disturbs it and the rest
/// begins with `op`, which could start now.
bool ProgramLoop::rejoin(std::uint32_t use, std::uint32_t op) {
  constexpr std::uint32_t kWorthIt = 4;  // operations; fewer cost no more one by one
  const PassShape& form = shape(use);
  if (!form.whole || form.rest[op] < kWorthIt) return false;
  if (uses_[use].ended + form.rest[op] != form.waits.size()) return false;
  const Duration cut = form.ops[op].start.since_start();
  if (!may_rejoin(use, cut)) return false;
  begin_whole(use, cut);
  return true;
}

/// The times of operations that were one event after others of their pass had run one by one.
void ProgramLoop::note_rejoined(std::uint32_t use) {
  const PassShape& form = shape(use);
  const SimTime began = run_.uses[use].begin;
  std::vector<OpRun>& ops = run_.splits[run_.uses[use].split];
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    if (form.ops[i].start.since_start() < uses_[use].cut) continue;
    ops[i] = {began + form.ops[i].start.since_start(), began + form.ops[i].end.since_start()};
    if (const program::Op& op = pass(use).ops[i]; op.kind == program::OpKind::kCollective)
      engine_.count_runs(run_.calls[index(op.call)], 1);  // the engine never saw this run
  }
}

std::vector<OpRun>& ProgramLoop::open_split(std::uint32_t use) {
  uses_[use].state = State::kSplit;
  if (const std::uint32_t known = run_.uses[use].split; known != UseRun::kWhole) return run_.splits[known];
  run_.uses[use].split = static_cast<std::uint32_t>(run_.splits.size());
  split_waiting_.push_back(shape(use).waits);
  return run_.splits.emplace_back(pass(use).ops.size());
}

/// Runs the use operation by operation from its start.
void ProgramLoop::split(std::uint32_t use) {
  open_split(use);
  const PassShape& form = shape(use);
  for (std::uint32_t n = 0; n < form.after_outside.rows(); ++n)
    if (uses_[use].missing >> n & 1)
      for (const std::uint32_t op : form.after_outside.row(n)) ++split_waiting_[run_.uses[use].split][op];
  start_streams(use);
}

/// Continues a pass that was one event operation by operation, from where it is now.
void ProgramLoop::split_running(std::uint32_t use) {
  const SimTime began = run_.uses[use].begin;
  const PassShape& form = shape(use);
  ++uses_[use].version;
  std::erase(whole_, use);
  std::vector<OpRun>& ops = open_split(use);
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const OpRun alone{began + form.ops[i].start.since_start(), began + form.ops[i].end.since_start()};
    if (alone.start > now_ || form.ops[i].start.since_start() < uses_[use].cut) continue;
    ops[i] = alone;
    if (alone.end > now_) continue;
    ++done_;
    ++uses_[use].ended;
    if (const program::Op& op = pass(use).ops[i]; op.kind == program::OpKind::kCollective)
      engine_.count_runs(run_.calls[index(op.call)], 1);  // the engine never saw this run
    for (const std::uint32_t next : form.successors.row(i)) --split_waiting_[run_.uses[use].split][next];
  }
  for (std::uint32_t k = 0; k < form.streams.size(); ++k) {
    const std::uint32_t s = role_begin_[role_of_use(use)] + form.streams[k];
    if (uses_[use].left >> k & 1) continue;
    Stream& stream = streams_[s];
    stream.busy = false;
    stream.split = use;
    stream.row = form.stream_ops.row(k);
    stream.cursor = 0;
    const auto started = [&](std::uint32_t i) { return began + form.ops[i].start.since_start() <= now_; };
    while (stream.cursor < stream.row.size() && started(stream.row[stream.cursor])) ++stream.cursor;
    if (stream.cursor == 0) continue;
    const std::uint32_t last = stream.row[stream.cursor - 1];
    if (ops[last].end > now_) resume(use, last, s);
  }
  for (std::uint32_t s = role_begin_[role_of_use(use)]; s < role_begin_[role_of_use(use) + 1]; ++s)
    if (streams_[s].split == use && runs_delay(streams_[s])) schedule_end(s);
  std::vector<std::uint32_t> fresh;
  for (std::uint32_t i = use_targets_.begin[use]; i < use_targets_.begin[use + 1]; ++i) {
    const OpRun& from = ops[use_targets_.values[i].from];
    if (released_[i] || began + form.ops[use_targets_.values[i].from].end.since_start() > now_) continue;
    BUSBAR_DCHECK(from.end == now_) << "an operation ended unseen";
    released_[i] = 1;
    fresh.push_back(i);
  }
  for (const std::uint32_t i : fresh) satisfy(use_targets_.values[i]);
  start_streams(use);
  for (const std::uint32_t i : fresh) wake(use_targets_.values[i]);
}

/// Continues an operation in its middle. Delays get their ends when all rates are known.
void ProgramLoop::resume(std::uint32_t use, std::uint32_t i, std::uint32_t s) {
  Stream& stream = streams_[s];
  const SimTime began = run_.uses[use].begin, start = run_.splits[run_.uses[use].split][i].start;
  const program::Op& op = pass(use).ops[i];
  stream.busy = true;
  stream.running = {use, i};
  stream.delay = op.kind == program::OpKind::kDelay;
  if (op.kind == program::OpKind::kCollective) {
    const program::CallId call = run_.calls[index(op.call)];
    engine_.start(call, (std::uint64_t{use} << 32) | i, start);
    in_flight_.push_back(call);
    rate_[stream.role] -= share(op);
    return;
  }
  std::int64_t spent = (now_ - start).in_ps() * kFullRate;
  for (const std::uint32_t c : shape(use).collectives)
    spent -= share(pass(use).ops[c]) * overlap_ps(start, now_, began + shape(use).ops[c].start.since_start(),
                                                  began + shape(use).ops[c].end.since_start());
  stream.work_left = std::max<std::int64_t>(0, op.duration.in_ps() * kFullRate - spent);
  stream.since = now_;
}

/// A call is about to start: splits the passes that it may disturb.
void ProgramLoop::meet(program::CallId call, std::uint32_t role, std::int64_t share) {
  for (std::size_t i = 0; i < whole_.size();) {
    const std::uint32_t use = whole_[i];
    if ((share != 0 && role_of_use(use) == role) || !pass_apart(call, program_.uses[use].pass)) {
      split_running(use);
      i = 0;  // the split may have started calls that disturb other passes
    } else {
      ++i;
    }
  }
}

/// A delay of the role is about to start that collectives of a pass would slow.
void ProgramLoop::split_whole_of(std::uint32_t role) {
  for (std::size_t i = 0; i < whole_.size();) {
    if (role_of_use(whole_[i]) == role) {
      split_running(whole_[i]);
      i = 0;
    } else {
      ++i;
    }
  }
}

void ProgramLoop::count_whole_runs() {
  std::vector<std::uint64_t> runs(program_.passes.size(), 0);
  for (std::uint32_t u = 0; u < program_.uses.size(); ++u)
    runs[program_.uses[u].pass] += run_.uses[u].split == UseRun::kWhole;
  for (std::uint32_t p = 0; p < runs.size(); ++p)
    for (const program::Op& op : program_.passes[p].ops)
      if (op.kind == program::OpKind::kCollective && runs[p] > 0)
        engine_.count_runs(run_.calls[index(op.call)], runs[p]);
}

}  // namespace busbar::step
