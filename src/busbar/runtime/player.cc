#include "busbar/runtime/player.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "busbar/runtime/internal/stream.h"

namespace busbar::runtime {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Player::Player(const Stage& stage, std::uint32_t actor)
    : stage_(stage),
      actor_(actor),
      combine_(combine_of(stage.filling.type, stage.filling.reduction)),
      divide_(divide_of(stage.filling.type)) {
  for (const std::uint32_t t : stage.program->threads_of.row(actor)) cursors_.push_back({t});
}

std::byte* Player::at(const collectives::PlanSlice& s) const {
  std::byte* memory = stage_.memory[s.rank];
  return memory == nullptr ? nullptr : memory + stage_.program->place(s) * stage_.filling.chunk_bytes();
}

/// Counters only grow, so what was reached once need not be read again: `waited` counts it.
bool Player::ready(Cursor& c) {
  const Executable& x = *stage_.program;
  const auto waits = x.waits.row(c.next);
  const auto earlier = x.earlier.row(c.next);
  const auto reached = [&](std::uint32_t thread, std::uint64_t steps) {
    if (stage_.done[thread].value.load(std::memory_order_acquire) >= steps) return true;
    if (x.plan.thread_rank[thread] != actor_)
      stage_.board->seat(actor_).waits_for.store(thread, std::memory_order_relaxed);
    return false;
  };
  for (; c.waited < waits.size(); ++c.waited) {
    const Wait& w = waits[c.waited];
    if (!reached(w.thread, run_ * x.steps_of(w.thread) + w.steps)) return false;
  }
  for (; c.waited < waits.size() + earlier.size(); ++c.waited) {
    const std::uint32_t t = earlier[c.waited - waits.size()];
    if (!reached(t, run_ * x.steps_of(t))) return false;
  }
  return true;
}

/// Whether the step writes to one place of memory, and is long enough.
bool Player::streams(std::uint32_t step, std::size_t bytes) const {
  const auto reads = stage_.program->plan.reads.row(step), writes = stage_.program->plan.writes.row(step);
  return past_caches_ && bytes >= kLeastStreamed && writes.size() == 1 && reads.size() <= 2 && at(writes[0]) != nullptr;
}

void Player::move_past_caches(std::uint32_t step, std::size_t bytes) {
  const auto reads = stage_.program->plan.reads.row(step);
  std::byte* const to = at(stage_.program->plan.writes.row(step)[0]);
  const std::byte* const from = at(reads[0]);
  alignas(64) std::byte sum[4096];
  if (reads.size() == 1 && to != from) stream(to, from, bytes);
  for (std::size_t done = 0; reads.size() > 1 && done < bytes; done += sizeof sum) {
    const std::size_t n = std::min(sizeof sum, bytes - done);
    combine_(sum, from + done, at(reads[1]) + done, n / size_of(stage_.filling.type));
    stream(to + done, sum, n);
  }
  end_stream();
}

/// One read goes straight to where it is written. Of several, the sum is made at the first place that this process has,
/// or `aside` if others read there. Returns what another process must be sent; null: nothing.
const std::byte* Player::move(std::uint32_t step, std::size_t bytes, std::vector<std::byte>& aside) {
  const auto reads = stage_.program->plan.reads.row(step), writes = stage_.program->plan.writes.row(step);
  const std::byte *from = at(reads[0]), *sent = nullptr;
  if (reads.size() > 1) {
    std::byte* sum = writes.size() == 1 && reads.size() == 2 ? at(writes[0]) : nullptr;
    if (sum == nullptr) {
      if (aside.size() < bytes) aside.resize(bytes);
      sum = aside.data();
    }
    const std::size_t count = bytes / size_of(stage_.filling.type);
    for (std::size_t r = 1; r < reads.size(); ++r, from = sum) combine_(sum, from, at(reads[r]), count);
  }
  for (const collectives::PlanSlice& w : writes) {
    std::byte* to = at(w);
    if (to == nullptr)
      sent = from;
    else if (to != from)
      std::memcpy(to, from, bytes);
  }
  return sent;
}

void Player::perform(Cursor& c) {
  const collectives::PlanStep& s = stage_.program->plan.steps[c.next];
  const std::size_t bytes = s.count * stage_.filling.chunk_bytes();
  c.sent = nullptr;
  if (c.next >= stage_.program->first_division)
    divide_(at(stage_.program->plan.writes.row(c.next)[0]), bytes / size_of(stage_.filling.type),
            stage_.program->plan.ranks);
  else if (bytes == 0 || stage_.program->plan.reads.row(c.next).empty())
    return;
  else if (streams(c.next, bytes))
    move_past_caches(c.next, bytes);
  else
    c.sent = move(c.next, bytes, c.sum);
}

/// Performs what can be performed of one thread; returns the number of steps. A step is done when what it wrote to
/// other processes is on its way: until then nothing may write over it.
std::uint32_t Player::advance(Cursor& c) {
  const std::uint32_t before = c.next;
  Counter& done = stage_.done[c.thread];
  while (c.next < c.end && (c.performed || ready(c))) {
    if (!c.performed) {
      if (times_ != nullptr) times_[c.next].begin_ns = now_ns();
      perform(c);
    }
    c.performed = stage_.wire != nullptr && !stage_.wire->send(c.next, c.sent);
    if (c.performed) break;
    if (times_ != nullptr) times_[c.next].end_ns = now_ns();
    done.value.store(done.value.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    ++c.next;
    c.waited = 0;
  }
  return c.next - before;
}

/// Who waits for an actor that is lost waits without end, unless the wire ends the run.
void Player::wait_on_wire() {
  const std::uint32_t on = stage_.board->seat(actor_).waits_for.load(std::memory_order_relaxed);
  if (on < stage_.program->threads()) stage_.wire->wait_for(stage_.program->plan.thread_rank[on]);
}

bool Player::run() {
  std::uint32_t left = 0, idle = 0;
  for (Cursor& c : cursors_) {
    c.next = stage_.program->first_step[c.thread];
    c.end = stage_.program->first_step[c.thread + 1];
    c.waited = 0;
    left += c.end - c.next;
  }
  Seat& seat = stage_.board->seat(actor_);
  while (left > 0) {
    std::uint32_t steps = 0;
    if (stage_.wire != nullptr) stage_.wire->poll();
    for (Cursor& c : cursors_) steps += advance(c);
    left -= steps;
    if (steps > 0) {
      seat.steps.store(seat.steps.load(std::memory_order_relaxed) + steps, std::memory_order_relaxed);
      if (idle > 0) seat.waits_for.store(Seat::kNothing, std::memory_order_relaxed);
      idle = 0;
      continue;
    }
    if (stage_.board->ended()) return false;
    if (stage_.wire != nullptr) wait_on_wire();
    stage_.board->idle(++idle);
  }
  for (idle = 0; stage_.wire != nullptr && !stage_.wire->poll() && !stage_.board->ended();) stage_.board->idle(++idle);
  seat.waits_for.store(Seat::kNothing, std::memory_order_relaxed);
  ++run_;
  return !stage_.board->ended();
}

}  // namespace busbar::runtime
