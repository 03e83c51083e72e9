#include "busbar/runtime/internal/act.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "busbar/runtime/internal/stream.h"

namespace busbar::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// One task of one actor.
class TaskPart {
 public:
  TaskPart(const Task& task, const Stage& stage, std::uint32_t actor, std::vector<Measured*> measured)
      : task_(task),
        stage_(stage),
        actor_(actor),
        measured_(std::move(measured)),
        data_(*task.program, task.filling),
        player_(stage, actor) {
    player_.write_past_caches(task.stores == Stores::kPastCaches);
  }

  /// How often play() meets the others.
  static std::uint32_t meetings(const Task& t, bool tries_stores) {
    return (t.warmup > 0 ? 1 : 0) + (tries_stores ? 5 : 0) + 1 + (t.record ? 1 : 0) + (t.check ? 3 : 0);
  }
  /// The same for all actors.
  static bool tries_stores(const Task& t, const Board& board, bool shared_memory) {
    constexpr std::size_t kMostHeld = 16 << 20;  // half of the 32 MiB that 8 cores of an EPYC 7003 share
    std::size_t held = 0;
    for (std::uint32_t a = 0; a < t.program->plan.actors(); ++a)
      held = std::max(held, t.program->chunks_of(a) * t.filling.chunk_bytes());
    return shared_memory && has_streams() && !board.yields() && t.stores == Stores::kFaster && t.warmup > 1 &&
           t.filling.chunk_bytes() >= Player::kLeastStreamed && held <= kMostHeld;
  }

  bool play(StepTime* steps) {
    Measured& out = *measured_[actor_];
    data_.fill(actor_, stage_.memory[actor_]);
    if (!times(task_.warmup)) return false;
    if (tries_stores(task_, *stage_.board, stage_.wire == nullptr) && !choose_stores()) return false;
    if (!stage_.board->meet(actor_)) return false;
    const auto begin = Clock::now();
    if (!repeat(task_.iterations)) return false;
    out.seconds = std::chrono::duration<double>(Clock::now() - begin).count() / std::max(1u, task_.iterations);
    if (task_.record) {
      player_.record(steps);
      if (!times(1)) return false;
      player_.record(nullptr);
    }
    return !task_.check || check(out);
  }

 private:
  bool repeat(std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i)
      if (!player_.run()) return false;
    return true;
  }
  bool times(std::uint32_t n) { return n == 0 || (stage_.board->meet(actor_) && repeat(n)); }

  /// Each way once to get used to it, then the least of three: other programs may take a core away.
  bool choose_stores() {
    constexpr int kTries = 3;
    for (const bool past : {false, true}) {
      player_.write_past_caches(past);
      if (!times(1) || !stage_.board->meet(actor_)) return false;
      double& least = measured_[actor_]->tried_s[past];
      least = HUGE_VAL;
      for (int i = 0; i < kTries; ++i) {
        const auto begin = Clock::now();
        if (!player_.run()) return false;
        least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
      }
    }
    if (!stage_.board->meet(actor_)) return false;
    double slowest[2] = {0, 0};
    for (const Measured* m : measured_)
      for (const int past : {0, 1}) slowest[past] = std::max(slowest[past], m->tried_s[past]);
    player_.write_past_caches(slowest[1] < slowest[0]);
    return true;
  }

  /// No actor writes while another fills or compares.
  bool check(Measured& out) {
    if (!stage_.board->meet(actor_)) return false;
    data_.fill(actor_, stage_.memory[actor_]);
    if (!times(1) || !stage_.board->meet(actor_)) return false;
    out.wrong = data_.wrong(actor_, stage_.memory[actor_]);
    return true;
  }

  const Task& task_;
  const Stage& stage_;
  std::uint32_t actor_;
  std::vector<Measured*> measured_;  ///< per actor
  TestData data_;
  Player player_;
};

}  // namespace

bool act(std::uint32_t actor, const std::vector<Task>& tasks, const Arena& arena, Board& board, Wire* wire,
         std::uint32_t first) {
  for (std::uint32_t t = 0; t < tasks.size(); ++t) {
    board.seat(actor).task.store(t, std::memory_order_relaxed);
    const Task& task = tasks[t];
    if (actor >= task.program->plan.actors()) {
      if (!board.meet(actor)) return false;
      board.stay_away(actor, TaskPart::meetings(task, TaskPart::tries_stores(task, board, wire == nullptr)));
      continue;
    }
    Stage stage{task.program, task.filling, &board, arena.counters(t), arena.blocks(), nullptr};
    if (wire != nullptr) {
      stage.done = wire->counters(task.program->threads());
      stage.wire = wire;
      for (std::uint32_t a = 0; a < arena.actors(); ++a)
        if (a != actor) stage.memory[a] = nullptr;
      wire->begin(first + t, stage);  // before others, who have met this one, send frames of the task
    }
    if (!board.meet(actor)) return false;
    std::vector<Measured*> measured;
    for (std::uint32_t a = 0; a < task.program->plan.actors(); ++a) measured.push_back(&arena.measured(t, a));
    if (!TaskPart(task, stage, actor, std::move(measured)).play(arena.steps(t))) return false;
  }
  if (wire != nullptr) wire->end();
  return board.meet(actor);
}

std::string wait_of(std::uint32_t actor, const std::vector<Task>& tasks, Board& board) {
  const Seat& seat = board.seat(actor);
  const std::uint32_t on = seat.waits_for.load(std::memory_order_relaxed);
  if (on == Seat::kNothing) return {};
  if (on == Seat::kMeeting) return "the other ranks between two runs";
  const Executable& x = *tasks[seat.task.load(std::memory_order_relaxed)].program;
  return fmt::format("rank {}", x.plan.thread_rank[on]);
}

}  // namespace busbar::runtime
