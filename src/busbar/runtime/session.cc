#include "busbar/runtime/session.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "busbar/runtime/host_rates.h"
#include "busbar/runtime/internal/act.h"
#include "busbar/runtime/internal/host_session.h"
#include "busbar/runtime/internal/processes.h"
#include "busbar/runtime/internal/watch.h"

namespace busbar::runtime {

double TaskResult::slowest_s() const { return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end()); }

namespace {

/// Threads cannot be killed alone; only a bug makes one stand still, which the timeout tells.
Status play_as_threads(const std::vector<Task>& tasks, const Arena& arena, Board& board,
                       const SessionOptions& options) {
  std::atomic<std::uint32_t> left{arena.actors()};
  std::vector<std::jthread> threads;
  for (std::uint32_t a = 0; a < arena.actors(); ++a)
    threads.emplace_back([&, a] {
      begin_on_own_core(a, arena.actors());
      act(a, tasks, arena, board, nullptr, 1);
      --left;
    });
  Watch watch(tasks, board, options);
  while (left > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (const Status s = watch.look(); !s.ok()) return board.end_run(), s;
  }
  return {};
}

TaskResult result_of(std::size_t task, const Task& t, const Arena& arena) {
  TaskResult out;
  for (std::uint32_t r = 0; r < t.program->plan.ranks; ++r) {
    out.seconds.push_back(arena.measured(task, r).seconds);
    out.wrong += arena.measured(task, r).wrong;
  }
  if (t.record) out.steps.assign(arena.steps(task), arena.steps(task) + t.program->plan.steps.size());
  return out;
}

}  // namespace

std::vector<TaskResult> results_of(const std::vector<Task>& tasks, const Arena& arena) {
  std::vector<TaskResult> out;
  for (std::size_t t = 0; t < tasks.size(); ++t) out.push_back(result_of(t, tasks[t], arena));
  return out;
}

Result<std::vector<TaskResult>> run_tasks(const std::vector<Task>& tasks, const SessionOptions& options) {
  if (options.hosts != nullptr) return run_on_hosts(tasks, options);
  BUSBAR_RETURN_IF_ERROR(usable(options.transport));
  const bool processes = options.transport != Transport::kThreads;
  BUSBAR_ASSIGN(const Arena arena, Arena::make(tasks, processes));
  Board board(arena.board(), arena.actors(), arena.actors() > cores_allowed());
  BUSBAR_RETURN_IF_ERROR(processes ? play_as_processes(tasks, arena, board, options)
                                   : play_as_threads(tasks, arena, board, options));
  return results_of(tasks, arena);
}

}  // namespace busbar::runtime
