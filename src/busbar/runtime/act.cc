#include "busbar/runtime/internal/act.h"

#include <fmt/core.h>

#include <chrono>

namespace busbar::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// One task of one actor.
class TaskPart {
 public:
  TaskPart(const Task& task, const Stage& stage, std::uint32_t actor)
      : task_(task), stage_(stage), actor_(actor), data_(*task.program, task.filling), player_(stage, actor) {}

  /// How often play() meets the others.
  static std::uint32_t meetings(const Task& t) {
    return (t.warmup > 0 ? 1 : 0) + 1 + (t.record ? 1 : 0) + (t.check ? 3 : 0);
  }

  bool play(Measured& out, StepTime* steps) {
    data_.fill(actor_, stage_.memory[actor_]);
    if (!times(task_.warmup)) return false;
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
      board.stay_away(actor, TaskPart::meetings(task));
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
    if (!TaskPart(task, stage, actor).play(arena.measured(t, actor), arena.steps(t))) return false;
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
